//! Two reports side by side: by how much the second one is faster or slower.

use super::report::{Report, Settings};
use serde::Serialize;

/// How a figure went from one report to the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricChange {
    /// `get`, `insert` …, or `all`.
    pub operation: String,
    /// What was measured: `per-second`, `p50`, `p99`, `p99.9`, `failed-share`, `refused-share`.
    pub figure: &'static str,
    /// In the first report: operations a second, milliseconds, or a share from 0 to 1.
    pub before: f64,
    /// In the second one.
    pub after: f64,
    /// After for before; none where there is nothing to divide by.
    pub ratio: Option<f64>,
    /// How it stands to the tolerance.
    pub judgement: Judgement,
}

/// Whether a change matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// By more than the tolerance.
    Better,
    /// Within it.
    Same,
    /// By more than the tolerance.
    Worse,
}

impl Judgement {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "worse",
        }
    }
}

/// A latency that differs by less than this, in milliseconds, is the same: timers and schedulers are no finer.
const LATENCY_MS_MIN: f64 = 0.2;
/// A share that differs by less than this is the same.
const SHARE_MIN: f64 = 0.001;

/// What two runs were asked to do differently, so that their figures say little about each other. Where, when and on which table they
/// ran is what may differ.
#[must_use]
pub fn differences(before: &Settings, after: &Settings) -> Vec<String> {
    // Taken apart by field, so that a new one is thought of here.
    let Settings {
        endpoint: _,
        table: _,
        run: _,
        seed: _,
        targets: _,
        pattern,
        rows,
        row_bytes,
        mix,
        batch_rows,
        range_rows,
        aim,
        schedule,
        workers,
        duration_seconds: _,
        operations: _,
        retries,
    } = before;
    let mut found = Vec::new();
    let mut differ = |what: &str, before: String, after: String| {
        if before != after {
            found.push(format!("{what}: {before} and {after}"));
        }
    };
    differ("pattern", pattern.to_string(), after.pattern.to_string());
    differ("rows", rows.to_string(), after.rows.to_string());
    differ(
        "bytes of a row",
        row_bytes.to_string(),
        after.row_bytes.to_string(),
    );
    differ("mix", mix.to_string(), after.mix.to_string());
    differ(
        "rows of a batch",
        batch_rows.to_string(),
        after.batch_rows.to_string(),
    );
    differ(
        "rows of a range",
        range_rows.to_string(),
        after.range_rows.to_string(),
    );
    differ("aim", format!("{aim:?}"), format!("{:?}", after.aim));
    differ("schedule", schedule.to_string(), after.schedule.to_string());
    differ("workers", workers.to_string(), after.workers.to_string());
    differ("retries", retries.to_string(), after.retries.to_string());
    found
}

/// All figures of both. `tolerance` is the part of the first figure by which the second may be worse: 0.1 for a tenth.
#[must_use]
pub fn compare(before: &Report, after: &Report, tolerance: f64) -> Vec<MetricChange> {
    let mut changes = Vec::new();
    let pairs = before
        .operations
        .iter()
        .chain([&before.all])
        .filter_map(|one| {
            let others = after.operations.iter().chain([&after.all]);
            Some((
                one,
                others
                    .into_iter()
                    .find(|other| other.operation == one.operation)?,
            ))
        });
    for (one, other) in pairs {
        let mut add = |figure, before: f64, after: f64, is_good_high, least| {
            changes.push(change(
                &one.operation,
                figure,
                [before, after],
                is_good_high,
                least,
                tolerance,
            ));
        };
        add("per-second", one.per_second, other.per_second, true, 0.0);
        let ms = |us: u64| us as f64 / 1_000.0;
        let (a, b) = (one.response, other.response);
        add("p50", ms(a.p50_us), ms(b.p50_us), false, LATENCY_MS_MIN);
        add("p99", ms(a.p99_us), ms(b.p99_us), false, LATENCY_MS_MIN);
        add("p99.9", ms(a.p999_us), ms(b.p999_us), false, LATENCY_MS_MIN);
        let failed = [one, other].map(|one| share(one.failed, one.done + one.failed));
        add("failed-share", failed[0], failed[1], false, SHARE_MIN);
    }
    let refused =
        [before, after].map(|report| share(report.tries.refused_sum(), report.tries.attempts));
    changes.push(change(
        "all",
        "refused-share",
        refused,
        false,
        SHARE_MIN,
        tolerance,
    ));
    changes
}

fn change(
    operation: &str,
    figure: &'static str,
    [before, after]: [f64; 2],
    is_good_high: bool,
    least: f64,
    tolerance: f64,
) -> MetricChange {
    let bound = (before * tolerance).max(least);
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
    fn a_report_is_the_same_as_itself() {
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
    fn what_is_worse_by_more_than_the_tolerance_is_said() {
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
        // A tenth of a millisecond is no difference, however many times the first it is.
        after = before.clone();
        after.operations[1].response.p50_us = before.operations[1].response.p50_us + 150;
        assert_eq!(
            judgements(&compare(&before, &after, 0.0)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
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
