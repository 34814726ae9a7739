//! The printed report of a run: the verdict and its numbers, in each format.

use crate::error::CommandError;
use crate::output::{self, Align, Field, Format, Output, OutputArgs, Shape, align};
use crate::screen::{self, truncate, wrap};
use crate::units::{count, latency, many};
use Align::{Left, Right};
use partita_tools::stress::display::thousands;
use partita_tools::stress::{Counts, Judged, OperationMetrics, PartitionMetrics, Report};
use std::fmt::Write as _;

/// Maximum number of rows in the table of the busiest partitions.
const PARTITIONS_MAX: usize = 5;
/// Line width if stdout is not a terminal.
const WIDTH: usize = 100;
/// Minimum line width. Narrower terminals wrap the lines.
const WIDTH_MIN: usize = 40;

/// Prints the report. The format `table` has the verdict in words, JSON the whole report, CSV only the operations.
pub(super) fn print(args: OutputArgs, report: &Report) -> Result<(), CommandError> {
    match args.format() {
        Format::Json => output::print(&report.to_json()),
        Format::Jsonl => output::print(&report.to_json_line()),
        Format::Table => {
            let width = screen::size().map_or(WIDTH, |(columns, _)| columns);
            output::print(&page(report, width.max(WIDTH_MIN)))
        }
        Format::Csv => args.write(Shape::Rows, |output| {
            let mut operations = report.operations.iter().chain([&report.all]);
            operations.try_for_each(|operation| write_operation(operation, output))
        }),
    }
}

fn write_operation(operation: &OperationMetrics, output: &mut Output) -> Result<(), CommandError> {
    let latency = operation.response;
    output.record(&[
        ("operation", Field::text(&operation.operation)),
        ("done", Field::count(operation.done)),
        ("missing", Field::count(operation.missing)),
        ("failed", Field::count(operation.failed)),
        ("entities", Field::count(operation.entities)),
        ("per_second", Field::double(operation.per_second)),
        ("p50_us", Field::count(latency.p50_us)),
        ("p90_us", Field::count(latency.p90_us)),
        ("p99_us", Field::count(latency.p99_us)),
        ("p999_us", Field::count(latency.p999_us)),
        ("max_us", Field::count(latency.max_us)),
    ])
}

/// The report as text, in lines of at most `width` columns.
fn page(report: &Report, width: usize) -> String {
    let mut lines = wrap(&report.verdict.headline, width, 2);
    if !report.verdict.advice.is_empty() {
        lines.push(String::new());
    }
    for advice in &report.verdict.advice {
        lines.extend(wrap(&format!("- {advice}"), width, 2));
    }
    for table in [judged, operations, partitions] {
        let table = table(report, width);
        if !table.is_empty() {
            lines.push(String::new());
            lines.extend(table);
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

/// A column of a table: its name, its alignment, and its cell for an item.
type Column<T> = (&'static str, Align, fn(&T) -> String);

/// The lines of a table with a row for each item; none without items.
fn table<'a, T: 'a>(
    columns: &[Column<T>],
    items: impl Iterator<Item = &'a T>,
    width: usize,
) -> Vec<String> {
    let row = |item: &T| columns.iter().map(|(.., cell)| cell(item)).collect();
    let mut rows: Vec<Vec<String>> = items.map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let head = columns.iter().map(|(name, ..)| (*name).to_owned());
    rows.insert(0, head.collect());
    let aligns: Vec<Align> = columns.iter().map(|(_, align, _)| *align).collect();
    align(&rows, &aligns, width)
}

fn judged(report: &Report, width: usize) -> Vec<String> {
    let columns: [Column<Judged>; 6] = [
        ("judged", Left, |one| one.scope.name().to_owned()),
        ("state", Left, |one| one.state.to_string()),
        ("asked/s", Right, |one| thousands(one.asked_per_second)),
        ("target/s", Right, |one| thousands(one.target_per_second)),
        ("times", Right, |one| format!("{:.2}", one.ratio())),
        ("what", Left, |one| one.what.clone()),
    ];
    table(&columns, report.verdict.judged.iter(), width)
}

fn operations(report: &Report, width: usize) -> Vec<String> {
    let columns: [Column<OperationMetrics>; 8] = [
        ("operation", Left, |one| one.operation.clone()),
        ("done", Right, |one| count(one.done)),
        ("failed", Right, |one| count(one.failed)),
        ("done/s", Right, |one| thousands(one.per_second)),
        ("p50", Right, |one| latency(one.response.p50_us)),
        ("p99", Right, |one| latency(one.response.p99_us)),
        ("p99.9", Right, |one| latency(one.response.p999_us)),
        ("longest", Right, |one| latency(one.response.max_us)),
    ];
    let all = (report.operations.len() > 1).then_some(&report.all);
    table(&columns, report.operations.iter().chain(all), width)
}

fn partitions(report: &Report, width: usize) -> Vec<String> {
    let columns: [Column<PartitionMetrics>; 6] = [
        ("busiest partitions", Left, |one| {
            truncate(&one.partition_key, 40)
        }),
        ("asked/s", Right, |one| thousands(one.asked_per_second)),
        ("served/s", Right, |one| thousands(one.served_per_second)),
        ("peak/s", Right, |one| count(one.peak_asked)),
        ("share", Right, |one| format!("{:.1} %", one.share * 100.0)),
        ("refused", Right, |one| count(one.refused)),
    ];
    let partitions = report.partitions.iter().take(PARTITIONS_MAX);
    table(&columns, partitions, width)
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
            "retries   {} after waits of {} s in total, {} of them given by Retry-After; {} succeeded by a retry",
            count(tries.retried_sum()),
            thousands((waited * 10.0).round() / 10.0),
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
            "not begun {} operations that were due: all workers were busy",
            count(report.not_begun)
        ));
    }
    if let Some(corrected) = report.all.corrected {
        notes.push(format!(
            "corrected for coordinated omission: p50 {}, p99 {}, p99.9 {}",
            latency(corrected.p50_us),
            latency(corrected.p99_us),
            latency(corrected.p999_us)
        ));
    }
    let steady = thousands((report.steady_seconds * 10.0).round() / 10.0);
    notes.push(format!(
        "pattern   {}; {}; rates over {steady} s",
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
