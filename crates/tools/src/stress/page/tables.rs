//! The figures beside the plots, for those who read rather than look.

use super::text::Text;
use crate::stress::{Counts, OperationMetrics, Report, Schedule, display};
use std::fmt::Write as _;

/// Partitions of a table that is open from the begin: more would push all else out of sight.
const PARTITIONS_OPEN: usize = 12;

/// A table: its caption, the names of its columns, its rows. The first column names the row; `is_text` says of the others whether they are
/// words. All cells are text.
pub(super) fn table(
    caption: &str,
    head: &[&str],
    rows: &[Vec<String>],
    is_text: &[usize],
) -> String {
    let class = |column: usize| {
        if column == 0 || is_text.contains(&column) {
            " class=\"text\""
        } else {
            ""
        }
    };
    let mut out = format!(
        "<div class=\"scroll\"><table><caption>{}</caption>\n<thead><tr>",
        Text(caption)
    );
    for (column, name) in head.iter().enumerate() {
        let _ = write!(
            out,
            "<th scope=\"col\"{}>{}</th>",
            class(column),
            Text(name)
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let cell = Text(cell);
            let _ = match column {
                0 => write!(
                    out,
                    "<th scope=\"row\" class=\"text\"><bdi>{cell}</bdi></th>"
                ),
                _ => write!(out, "<td{}>{cell}</td>", class(column)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// What became of the operations.
pub(super) fn operations(report: &Report) -> String {
    let head = [
        "Operation",
        "Done",
        "Failed",
        "Not found",
        "Entities",
        "Done/s",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "Longest",
    ];
    let row = |one: &OperationMetrics| {
        let latency = one.response;
        let times = [
            latency.p50_us,
            latency.p90_us,
            latency.p99_us,
            latency.p999_us,
            latency.max_us,
        ];
        let counts = [one.done, one.failed, one.missing, one.entities];
        let mut row = vec![one.operation.clone()];
        row.extend(counts.map(|count| display::thousands(count as f64)));
        row.push(display::thousands(one.per_second));
        row.extend(times.map(display::latency));
        row
    };
    let all = (report.operations.len() > 1).then_some(&report.all);
    let rows: Vec<_> = report.operations.iter().chain(all).map(row).collect();
    table(
        "Operations, and their latency from the time they were due",
        &head,
        &rows,
        &[],
    )
}

/// Latency as the server took it, and as others would have met it.
pub(super) fn service(report: &Report) -> String {
    let one = |name: &str, latency: crate::stress::LatencySummary| {
        let times = [
            latency.p50_us,
            latency.p99_us,
            latency.p999_us,
            latency.max_us,
        ];
        std::iter::once(name.to_owned())
            .chain(times.map(display::latency))
            .collect::<Vec<_>>()
    };
    let mut rows = vec![
        one("from the time it was due (response)", report.all.response),
        one("from the time it was begun (service)", report.all.service),
    ];
    if let Some(corrected) = report.all.corrected {
        rows.push(one(
            "corrected: as callers would meet it who do not wait for each other",
            corrected,
        ));
    }
    table(
        "Latency of all operations, measured in several ways",
        &["Latency", "p50", "p99", "p99.9", "Longest"],
        &rows,
        &[],
    )
}

/// The busiest partitions.
pub(super) fn partitions(report: &Report) -> String {
    let head = [
        "PartitionKey",
        "Asked/s",
        "Served/s",
        "Busiest second",
        "Share",
        "Refused",
    ];
    let rows: Vec<_> = report
        .partitions
        .iter()
        .map(|one| {
            vec![
                if one.partition_key.is_empty() {
                    "(empty)".to_owned()
                } else {
                    one.partition_key.clone()
                },
                display::thousands(one.asked_per_second),
                display::thousands(one.served_per_second),
                display::thousands(one.peak_asked as f64),
                format!("{:.1} %", one.share * 100.0),
                display::thousands(one.refused as f64),
            ]
        })
        .collect();
    let caption = format!(
        "Entities of the busiest {} of {} partitions",
        rows.len(),
        display::thousands(report.partitions_seen as f64)
    );
    let all = table(&caption, &head, &rows, &[]);
    if rows.len() <= PARTITIONS_OPEN {
        return all;
    }
    format!(
        "<details><summary>The busiest {} partitions as a table</summary>\n{all}</details>\n",
        rows.len()
    )
}

/// Refusals, and what the retry policy did.
pub(super) fn tries(report: &Report) -> String {
    let tries = &report.tries;
    let mut rows = vec![vec![
        "Attempts".to_owned(),
        String::new(),
        display::thousands(tries.attempts as f64),
    ]];
    let mut add = |what: &str, counts: &Counts| {
        for (word, count) in counts {
            rows.push(vec![
                what.to_owned(),
                word.clone(),
                display::thousands(*count as f64),
            ]);
        }
    };
    add("Refused by the server", &tries.refused);
    add("Tried again after", &tries.retried);
    add("Given up", &tries.given_up);
    add("Operations failed of", &report.failures);
    let mut more =
        |what: &str, value: String| rows.push(vec![what.to_owned(), String::new(), value]);
    more(
        "Waits before retries, in all",
        format!(
            "{} s",
            display::thousands((tries.waited_ms as f64 / 100.0).round() / 10.0)
        ),
    );
    more(
        "Waits that the server asked for",
        display::thousands(tries.waits_asked as f64),
    );
    more(
        "Operations that succeeded after a retry",
        display::thousands(tries.saved as f64),
    );
    more(
        "Operations due and never begun",
        display::thousands(report.not_begun as f64),
    );
    table(
        "Attempts, refusals, and what the retry policy did",
        &["What", "Why", "Count"],
        &rows,
        &[1],
    )
}

/// What was asked for.
pub(super) fn settings(report: &Report) -> String {
    let rows = keys_and_rows(report).into_iter().chain(load(report));
    let rows: Vec<_> = rows
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect();
    table("What was asked for", &["Setting", "Value"], &rows, &[1])
}

type Setting = (&'static str, String);

fn keys_and_rows(report: &Report) -> Vec<Setting> {
    let settings = &report.settings;
    let aim = settings.aim.clone().unwrap_or_else(|| "all".to_owned());
    vec![
        ("Endpoint", settings.endpoint.clone()),
        ("Table", settings.table.clone()),
        ("Run", settings.run.clone()),
        ("Keys", settings.pattern.to_string()),
        ("Seed", settings.seed.to_string()),
        ("Rows loaded", display::thousands(settings.rows as f64)),
        (
            "New rows of the run",
            display::thousands(report.new_rows as f64),
        ),
        (
            "Bytes of text in a row",
            display::thousands(settings.row_bytes as f64),
        ),
        ("Partition worked on", aim),
    ]
}

fn load(report: &Report) -> Vec<Setting> {
    let settings = &report.settings;
    let seconds = |seconds: f64| {
        format!(
            "{} s",
            display::thousands((seconds * 100.0).round() / 100.0)
        )
    };
    let or = |text: Option<String>, none: &str| text.unwrap_or_else(|| none.to_owned());
    let target = |target: Option<f64>| {
        let target = target.map(|rate| format!("{} entities/s", display::thousands(rate)));
        or(target, "not judged")
    };
    let how = match settings.schedule {
        Schedule::Closed { .. } => "each worker's next operation begins when its last has ended",
        Schedule::Rate { .. } => "each operation has its time, whatever becomes of the others",
    };
    let (all, steady) = (seconds(report.seconds), seconds(report.steady_seconds));
    let stopped = if report.is_interrupted {
        "; stopped before the end"
    } else {
        ""
    };
    let operations = settings
        .operations
        .map(|count| display::thousands(count as f64));
    vec![
        ("Mix", settings.mix.to_string()),
        (
            "Rows of a batch, of a range",
            format!("{}, {}", settings.batch_rows, settings.range_rows),
        ),
        ("Schedule", format!("{}: {how}", settings.schedule)),
        ("Workers", settings.workers.to_string()),
        (
            "Duration",
            or(
                settings.duration_seconds.map(seconds),
                "until all operations are done",
            ),
        ),
        ("Operations at most", or(operations, "no bound")),
        ("Retries of a request", settings.retries.to_string()),
        ("Target of a partition", target(settings.targets.partition)),
        ("Target of the account", target(settings.targets.account)),
        (
            "Measured",
            format!("{all}, {steady} of them steady{stopped}"),
        ),
    ]
}
