//! Compares the figures of two reports.
use super::report::{Report, Settings};
use partita_bulk::named_enum;
use partita_load::LatencySummary;
use serde::Serialize;

/// The change of a figure between two reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricChange {
    /// `get`, `insert` …, or `all`.
    pub operation: String,
    /// The name of the figure: `per-second`, `p50`, `p99`, `p99.9`, `failed-share` or `refused-share`.
    pub figure: &'static str,
    /// The value in the first report: operations per second, milliseconds, or a share from 0 to 1.
    pub before: f64,
    /// The value in the second report.
    pub after: f64,
    /// `after` divided by `before`; `None` if `before` is 0.
    pub ratio: Option<f64>,
    /// Whether the change exceeds the tolerance, and in which direction.
    pub judgement: Judgement,
}

named_enum! {
    /// Whether a change matters.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Judgement {
        /// Better by more than the tolerance.
        Better = "better",
        /// Within the tolerance.
        Same = "same",
        /// Worse by more than the tolerance.
        Worse = "worse",
    }
}

/// Minimum difference of latencies, in milliseconds, that counts. Timers and schedulers are not more precise.
const LATENCY_MS_MIN: f64 = 0.2;
/// Minimum difference of shares (0 to 1) that counts.
const SHARE_MIN: f64 = 0.001;

/// The settings that differ between two runs, each described. If there are any, the figures of the runs are not
/// comparable. Settings that do not matter, such as endpoint, table and duration, are ignored.
pub fn differences(before: &Settings, after: &Settings) -> Vec<String> {
    let pairs = compared(before).into_iter().zip(compared(after));
    let differ = pairs.filter(|(before, after)| before != after);
    differ
        .map(|((what, before), (_, after))| format!("{what}: {before} and {after}"))
        .collect()
}

/// The settings to compare. The pattern lists every field, so that the compiler requires a new field to be added here.
fn compared(settings: &Settings) -> [(&'static str, String); 10] {
    let Settings {
        endpoint: _,
        table: _,
        run: _,
        seed: _,
        targets: _,
        duration_seconds: _,
        operations: _,
        pattern,
        rows,
        row_bytes,
        mix,
        batch_rows,
        range_rows,
        aim,
        schedule,
        workers,
        retries,
    } = settings;
    [
        ("pattern", pattern.to_string()),
        ("rows", rows.to_string()),
        ("bytes per row", row_bytes.to_string()),
        ("mix", mix.to_string()),
        ("rows per batch", batch_rows.to_string()),
        ("rows per range", range_rows.to_string()),
        ("aim", format!("{aim:?}")),
        ("schedule", schedule.to_string()),
        ("workers", workers.to_string()),
        ("retries", retries.to_string()),
    ]
}

/// Compares the figures of the operations that both reports have, and their shares of refused attempts. `tolerance` is
/// the allowed difference as a share of the first report's figure: 0.1 allows a tenth.
pub fn compare(before: &Report, after: &Report, tolerance: f64) -> Vec<MetricChange> {
    let mut changes = Vec::new();
    let mut add = |operation: &str, figure, values: [f64; 2], is_good_high, least: f64| {
        let bound = (values[0] * tolerance).max(least);
        changes.push(change(operation, figure, values, is_good_high, bound));
    };
    for one in before.operations.iter().chain([&before.all]) {
        let mut others = after.operations.iter().chain([&after.all]);
        let Some(other) = others.find(|other| other.operation == one.operation) else {
            continue;
        };
        let name = &one.operation;
        let both = [one, other];
        let ms = |of: fn(&LatencySummary) -> u64| {
            both.map(|metrics| of(&metrics.response) as f64 / 1_000.0)
        };
        add(
            name,
            "per-second",
            both.map(|one| one.per_second),
            true,
            0.0,
        );
        add(name, "p50", ms(|all| all.p50_us), false, LATENCY_MS_MIN);
        add(name, "p99", ms(|all| all.p99_us), false, LATENCY_MS_MIN);
        add(name, "p99.9", ms(|all| all.p999_us), false, LATENCY_MS_MIN);
        let failed = both.map(|one| share(one.failed, one.done + one.failed));
        add(name, "failed-share", failed, false, SHARE_MIN);
    }
    let tries = [&before.tries, &after.tries];
    let refused = tries.map(|tries| share(tries.refused_sum(), tries.attempts));
    add("all", "refused-share", refused, false, SHARE_MIN);
    changes
}

fn change(
    operation: &str,
    figure: &'static str,
    [before, after]: [f64; 2],
    is_good_high: bool,
    bound: f64,
) -> MetricChange {
    let judgement = match after - before {
        difference if difference.abs() <= bound => Judgement::Same,
        difference if (difference > 0.0) == is_good_high => Judgement::Better,
        _ => Judgement::Worse,
    };
    MetricChange {
        operation: operation.to_owned(),
        figure,
        before,
        after,
        ratio: (before > 0.0).then(|| (after / before * 1_000.0).round() / 1_000.0),
        judgement,
    }
}

fn share(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64 * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::super::example::report;
    use super::*;

    fn judgements(changes: &[MetricChange]) -> Vec<String> {
        let changed = changes
            .iter()
            .filter(|change| change.judgement != Judgement::Same);
        changed
            .map(|one| format!("{} {} {}", one.operation, one.figure, one.judgement.name()))
            .collect()
    }

    #[test]
    fn a_report_does_not_differ_from_itself() {
        let report = report();
        assert_eq!(
            judgements(&compare(&report, &report, 0.0)),
            Vec::<String>::new()
        );
        assert_eq!(
            differences(&report.settings, &report.settings),
            Vec::<String>::new()
        );
    }

    #[test]
    fn changes_beyond_the_tolerance_are_reported() {
        let before = report();
        let mut after = before.clone();
        after.operations[0].per_second = before.operations[0].per_second * 0.85;
        after.operations[0].response.p99_us = before.operations[0].response.p99_us * 2;
        after.all.response.p50_us = before.all.response.p50_us / 2;
        after
            .tries
            .refused
            .insert("partition-target".to_owned(), 8_000);
        let found = compare(&before, &after, 0.1);
        assert_eq!(
            judgements(&found),
            [
                "get per-second worse",
                "get p99 worse",
                "all p50 better",
                "all refused-share worse"
            ]
        );
        assert_eq!(found[0].ratio, Some(0.85));
        let tolerant = judgements(&compare(&before, &after, 0.2));
        assert!(
            !tolerant.contains(&"get per-second worse".to_owned()),
            "{tolerant:?}"
        );
        // A difference of 0.15 ms is ignored, even if its ratio is large.
        after = before.clone();
        after.operations[1].response.p50_us = before.operations[1].response.p50_us + 150;
        assert_eq!(
            judgements(&compare(&before, &after, 0.0)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn different_settings_are_listed() {
        let before = report().settings;
        let after = Settings {
            workers: 3,
            table: "other".to_owned(),
            aim: Some("a".to_owned()),
            ..before.clone()
        };
        assert_eq!(
            differences(&before, &after),
            ["aim: None and Some(\"a\")", "workers: 16 and 3"]
        );
    }
}
