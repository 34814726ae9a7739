//! The tables of the page: the figures of the plots, refusals and retries, and the settings.

use crate::html::Text;
use crate::stress::{LatencySummary, OperationMetrics, Report, Schedule, display};
use std::fmt::Write as _;

/// An HTML table of partitions with more rows than this is collapsed when the page loads, so that it does not push the
/// rest of the page down.
const PARTITIONS_OPEN: usize = 12;

/// A table with a caption, column names and rows. The first column names the row; `is_text` lists the other columns
/// that contain text, not numbers. Cells are escaped.
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

fn count(count: u64) -> String {
    display::thousands(count as f64)
}

/// The table of operations: counts and latencies of each kind.
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
        let response = one.response;
        let mut row = vec![one.operation.clone()];
        row.extend([one.done, one.failed, one.missing, one.entities].map(count));
        row.push(display::thousands(one.per_second));
        row.extend([response.p50_us, response.p90_us].map(display::latency));
        row.extend(tail(response));
        row
    };
    let all = (report.operations.len() > 1).then_some(&report.all);
    let rows: Vec<_> = report.operations.iter().chain(all).map(row).collect();
    table(
        "Operations, with their latency from the time they were due",
        &head,
        &rows,
        &[],
    )
}

fn tail(latency: LatencySummary) -> [String; 3] {
    [latency.p99_us, latency.p999_us, latency.max_us].map(display::latency)
}

/// The table of the latency of all operations: response, service and corrected.
pub(super) fn service(report: &Report) -> String {
    let all = &report.all;
    let corrected = "corrected for requests that were not sent during slow answers";
    let measured = [
        (
            "from the time the operation was due (response)",
            Some(all.response),
        ),
        (
            "from the time the operation began (service)",
            Some(all.service),
        ),
        (corrected, all.corrected),
    ];
    let rows = measured.into_iter().filter_map(|(name, latency)| {
        let latency = latency?;
        let mut row = vec![name.to_owned(), display::latency(latency.p50_us)];
        row.extend(tail(latency));
        Some(row)
    });
    table(
        "Latency of all operations, measured in several ways",
        &["Latency", "p50", "p99", "p99.9", "Longest"],
        &rows.collect::<Vec<_>>(),
        &[],
    )
}

/// The table of the busiest partitions.
pub(super) fn partitions(report: &Report) -> String {
    let head = [
        "PartitionKey",
        "Requested/s",
        "Served/s",
        "Busiest second",
        "Share",
        "Refused",
    ];
    let rows = report.partitions.iter().map(|one| {
        let key = match one.partition_key.as_str() {
            "" => "(empty)",
            key => key,
        };
        vec![
            key.to_owned(),
            display::thousands(one.asked_per_second),
            display::thousands(one.served_per_second),
            count(one.peak_asked),
            format!("{:.1} %", one.share * 100.0),
            count(one.refused),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let (shown, seen) = (rows.len(), count(report.partitions_seen));
    let caption = format!("Entities of the busiest {shown} of {seen} partitions");
    let all = table(&caption, &head, &rows, &[]);
    if shown <= PARTITIONS_OPEN {
        return all;
    }
    format!(
        "<details><summary>The busiest {shown} partitions as a table</summary>\n{all}</details>\n"
    )
}

/// The table of refused attempts, and of decisions of the retry policy.
pub(super) fn tries(report: &Report) -> String {
    let tries = &report.tries;
    let row = |what: &str, why: &str, value: String| vec![what.to_owned(), why.to_owned(), value];
    let mut rows = vec![row("Attempts", "", count(tries.attempts))];
    for (what, counts) in [
        ("Refused by the server", &tries.refused),
        ("Retried after", &tries.retried),
        ("Given up because", &tries.given_up),
        ("Operations failed with", &report.failures),
    ] {
        rows.extend(
            counts
                .iter()
                .map(|(why, of_it)| row(what, why, count(*of_it))),
        );
    }
    let waited = display::thousands((tries.waited_ms as f64 / 100.0).round() / 10.0);
    for (what, value) in [
        ("Total wait before retries", format!("{waited} s")),
        ("Waits that the server requested", count(tries.waits_asked)),
        (
            "Operations that succeeded after a retry",
            count(tries.saved),
        ),
        (
            "Operations that were due but never began",
            count(report.not_begun),
        ),
    ] {
        rows.push(row(what, "", value));
    }
    table(
        "Attempts, refusals and retries",
        &["Event", "Reason", "Count"],
        &rows,
        &[1],
    )
}

/// The table of the settings of the run.
pub(super) fn settings(report: &Report) -> String {
    let rows = keys_and_rows(report).into_iter().chain(load(report));
    let rows: Vec<_> = rows
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect();
    table("Settings of the run", &["Setting", "Value"], &rows, &[1])
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
        ("Rows loaded", count(settings.rows)),
        ("New rows of the run", count(report.new_rows)),
        ("Bytes of text per row", count(settings.row_bytes)),
        ("Partitions used", aim),
    ]
}

fn load(report: &Report) -> Vec<Setting> {
    let settings = &report.settings;
    let seconds = |seconds: f64| {
        let rounded = (seconds * 100.0).round() / 100.0;
        format!("{} s", display::thousands(rounded))
    };
    let or = |text: Option<String>, none: &str| text.unwrap_or_else(|| none.to_owned());
    let target = |target: Option<f64>| {
        let target = target.map(|rate| format!("{} entities/s", display::thousands(rate)));
        or(target, "not judged")
    };
    let how = match settings.schedule {
        Schedule::Closed { .. } => "each worker's next operation begins when its last has ended",
        Schedule::Rate { .. } => "each operation begins at a fixed time, independent of the others",
    };
    let (batch, range) = (settings.batch_rows, settings.range_rows);
    let duration = settings.duration_seconds.map(seconds);
    let (all, steady) = (seconds(report.seconds), seconds(report.steady_seconds));
    let stopped = if report.is_interrupted {
        "; stopped before the end"
    } else {
        ""
    };
    let measured = format!("{all}, of which {steady} steady{stopped}");
    let operations = or(settings.operations.map(count), "no limit");
    vec![
        ("Mix", settings.mix.to_string()),
        ("Rows per batch, per range", format!("{batch}, {range}")),
        ("Schedule", format!("{}: {how}", settings.schedule)),
        ("Workers", settings.workers.to_string()),
        ("Duration", or(duration, "until all operations are done")),
        ("Maximum operations", operations),
        ("Retries per request", settings.retries.to_string()),
        ("Target of a partition", target(settings.targets.partition)),
        ("Target of the account", target(settings.targets.account)),
        ("Measured", measured),
    ]
}
