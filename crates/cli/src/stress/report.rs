//! What a run prints: the verdict and its numbers, in each format.

use crate::error::CommandError;
use crate::output::{self, Align, Format, Output, OutputArgs, Shape, align, number, truncate};
use crate::screen::{self, wrap};
use crate::units::{count, latency, many};
use partita_client::ValueRef;
use partita_tools::stress::{Counts, OperationMetrics, Report, display};
use std::fmt::Write as _;

/// Partitions in the table of the busiest.
const PARTITIONS_MAX: usize = 5;
/// Columns where there is no terminal.
const WIDTH: usize = 100;
/// A narrower terminal breaks lines by itself.
const WIDTH_MIN: usize = 40;

/// Prints the report: the verdict in words as a table, the whole report as JSON, the operations as CSV.
pub(super) fn print(args: OutputArgs, report: &Report) -> Result<(), CommandError> {
    match args.format() {
        Format::Json => output::print(&report.to_json()),
        Format::Jsonl => output::print(&report.to_json_line()),
        Format::Table => {
            let width = screen::size().map_or(WIDTH, |(columns, _)| columns);
            output::print(&page(report, width.max(WIDTH_MIN)))
        }
        Format::Csv => {
            let mut output = Output::stdout(args, Shape::Rows, None);
            for operation in report.operations.iter().chain([&report.all]) {
                write_operation(operation, &mut output)?;
            }
            output.finish()
        }
    }
}

fn write_operation(operation: &OperationMetrics, output: &mut Output) -> Result<(), CommandError> {
    let latency = operation.response;
    output.record(&[
        ("Operation", ValueRef::String(&operation.operation)),
        ("Done", number(operation.done)),
        ("Missing", number(operation.missing)),
        ("Failed", number(operation.failed)),
        ("Entities", number(operation.entities)),
        ("PerSecond", ValueRef::Double(operation.per_second)),
        ("P50Us", number(latency.p50_us)),
        ("P90Us", number(latency.p90_us)),
        ("P99Us", number(latency.p99_us)),
        ("P999Us", number(latency.p999_us)),
        ("MaxUs", number(latency.max_us)),
    ])
}

/// The report for people, in lines of so many columns.
fn page(report: &Report, width: usize) -> String {
    let mut lines = wrap(&report.verdict.headline, width, 2);
    if !report.verdict.advice.is_empty() {
        lines.push(String::new());
    }
    for advice in &report.verdict.advice {
        lines.extend(wrap(&format!("- {advice}"), width, 2));
    }
    for (rows, aligns) in [judged(report), operations(report), partitions(report)] {
        if rows.len() > 1 {
            lines.push(String::new());
            lines.extend(align(&rows, &aligns, width));
        }
    }
    lines.push(String::new());
    for note in notes(report) {
        lines.extend(wrap(&note, width, 10));
    }
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", line.trim_end());
        text
    })
}

/// Rows of a table, the head first, and the alignment of its columns.
type TableRows = (Vec<Vec<String>>, Vec<Align>);

fn table<const N: usize>(
    head: [(&str, Align); N],
    rows: impl Iterator<Item = Vec<String>>,
) -> TableRows {
    let names = head.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = std::iter::once(names).chain(rows).collect();
    (rows, head.map(|(_, align)| align).to_vec())
}

fn judged(report: &Report) -> TableRows {
    use Align::{Left, Right};
    let head = [
        ("judged", Left),
        ("state", Left),
        ("asked/s", Right),
        ("target/s", Right),
        ("times", Right),
        ("what", Left),
    ];
    let rows = report.verdict.judged.iter().map(|one| {
        vec![
            one.scope.name().to_owned(),
            one.state.to_string(),
            display::thousands(one.asked_per_second),
            display::thousands(one.target_per_second),
            format!("{:.2}", one.ratio()),
            one.what.clone(),
        ]
    });
    table(head, rows)
}

fn operations(report: &Report) -> TableRows {
    use Align::{Left, Right};
    let head = [
        ("operation", Left),
        ("done", Right),
        ("failed", Right),
        ("done/s", Right),
        ("p50", Right),
        ("p99", Right),
        ("p99.9", Right),
        ("longest", Right),
    ];
    let all = (report.operations.len() > 1).then_some(&report.all);
    let rows = report.operations.iter().chain(all).map(|one| {
        let response = one.response;
        vec![
            one.operation.clone(),
            count(one.done),
            count(one.failed),
            display::thousands(one.per_second),
            latency(response.p50_us),
            latency(response.p99_us),
            latency(response.p999_us),
            latency(response.max_us),
        ]
    });
    table(head, rows)
}

fn partitions(report: &Report) -> TableRows {
    use Align::{Left, Right};
    let head = [
        ("busiest partitions", Left),
        ("asked/s", Right),
        ("served/s", Right),
        ("peak/s", Right),
        ("share", Right),
        ("refused", Right),
    ];
    let rows = report.partitions.iter().take(PARTITIONS_MAX).map(|one| {
        vec![
            truncate(&one.partition_key, 40),
            display::thousands(one.asked_per_second),
            display::thousands(one.served_per_second),
            count(one.peak_asked),
            format!("{:.1} %", one.share * 100.0),
            count(one.refused),
        ]
    });
    table(head, rows)
}

fn notes(report: &Report) -> Vec<String> {
    let tries = &report.tries;
    let mut notes = Vec::new();
    if tries.refused_sum() > 0 {
        let (sum, attempts) = (count(tries.refused_sum()), count(tries.attempts));
        notes.push(format!(
            "refused   {sum} of {attempts} attempts: {}",
            listed(&tries.refused)
        ));
    }
    if tries.retried_sum() > 0 {
        let waited = tries.waited_ms as f64 / 1000.0;
        notes.push(format!(
            "retries   {} after waits of {} s in total, {} of them as the server asked; {} succeeded by them",
            count(tries.retried_sum()),
            display::thousands((waited * 10.0).round() / 10.0),
            count(tries.waits_asked),
            many(tries.saved, "operation", "operations"),
        ));
    }
    if report.all.failed > 0 {
        notes.push(format!("failed    {}", listed(&report.failures)));
        notes.push(format!("given up  {}", listed(&tries.given_up)));
    }
    if report.not_begun > 0 {
        notes.push(format!(
            "not begun {} that were due: all workers were waiting",
            count(report.not_begun)
        ));
    }
    if let Some(corrected) = report.all.corrected {
        notes.push(format!(
            "corrected for callers that do not wait for each other: p50 {}, p99 {}, p99.9 {}",
            latency(corrected.p50_us),
            latency(corrected.p99_us),
            latency(corrected.p999_us)
        ));
    }
    let steady = display::thousands((report.steady_seconds * 10.0).round() / 10.0);
    notes.push(format!(
        "pattern   {}; {}; rates of {steady} s",
        report.settings.pattern, report.settings.schedule
    ));
    notes
}

fn listed(counts: &Counts) -> String {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1));
    let each = sorted
        .iter()
        .map(|(word, number)| format!("{} {}", truncate(word, 60), count(**number)));
    each.collect::<Vec<_>>().join(", ")
}
