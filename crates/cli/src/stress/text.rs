//! What a run prints: the verdict and the figures, in the form that is wanted.

use crate::error::Failure;
use crate::output::{self, Form, Output, Shape, Shown, cut};
use crate::progress::{count, many};
use crate::screen::{self, wrapped};
use clap::ArgMatches;
use partita_client::ValueRef;
use partita_tools::stress::{Counts, OperationMetrics, Report, display};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// Partitions that are named.
const PARTITIONS_SHOWN: usize = 5;
/// Columns where there is no terminal to say.
const WIDTH: usize = 100;
/// A terminal that is narrower breaks lines by itself.
const WIDTH_MIN: usize = 40;

/// Prints the report: the verdict in words on a terminal, else the whole report as JSON; as CSV the figures of the operations.
pub(crate) fn print(matches: &ArgMatches, report: &Report) -> Result<(), Failure> {
    match Form::of(matches) {
        Form::Json => output::print(&report.to_json()),
        Form::JsonLines => output::print(&report.to_json_line()),
        Form::Table => {
            let width = screen::size().map_or(WIDTH, |(columns, _)| columns);
            output::print(&page(report, width.max(WIDTH_MIN)))
        }
        Form::Csv => {
            let mut output = Output::of(matches, Shape::Rows, None);
            for figures in report.operations.iter().chain([&report.all]) {
                row(figures, &mut output)?;
            }
            output.end()
        }
    }
}

fn row(figures: &OperationMetrics, output: &mut Output) -> Result<(), Failure> {
    let number = |number: u64| ValueRef::Int64(i64::try_from(number).unwrap_or(i64::MAX));
    let latency = figures.response;
    output.row(&Shown::Record(&[
        ("Operation", ValueRef::String(&figures.operation)),
        ("Done", number(figures.done)),
        ("Missing", number(figures.missing)),
        ("Failed", number(figures.failed)),
        ("Entities", number(figures.entities)),
        ("PerSecond", ValueRef::Double(figures.per_second)),
        ("P50Us", number(latency.p50_us)),
        ("P90Us", number(latency.p90_us)),
        ("P99Us", number(latency.p99_us)),
        ("P999Us", number(latency.p999_us)),
        ("MaxUs", number(latency.max_us)),
    ]))
}

/// The report for people, in lines of so many columns.
fn page(report: &Report, width: usize) -> String {
    let mut lines = wrapped(&report.verdict.headline, width, 2);
    if !report.verdict.advice.is_empty() {
        lines.push(String::new());
    }
    for advice in &report.verdict.advice {
        lines.extend(wrapped(&format!("- {advice}"), width, 2));
    }
    let mut add = |rows: &[Vec<String>], texts: usize| {
        if rows.len() > 1 {
            lines.push(String::new());
            lines.extend(columns(rows, texts, width));
        }
    };
    add(&judged(report), 2);
    add(&operations(report), 1);
    add(&partitions(report), 1);
    lines.push(String::new());
    for note in notes(report) {
        lines.extend(wrapped(&note, width, 10));
    }
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", line.trim_end());
        text
    })
}

fn judged(report: &Report) -> Vec<Vec<String>> {
    let head = ["judged", "state", "asked/s", "target/s", "times", "what"];
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
    table(&head, rows)
}

fn operations(report: &Report) -> Vec<Vec<String>> {
    let head = [
        "operation",
        "done",
        "failed",
        "done/s",
        "p50",
        "p99",
        "p99.9",
        "longest",
    ];
    let all = (report.operations.len() > 1).then_some(&report.all);
    let rows = report.operations.iter().chain(all).map(|one| {
        let latency = one.response;
        vec![
            one.operation.clone(),
            count(one.done),
            count(one.failed),
            display::thousands(one.per_second),
            display::latency(latency.p50_us),
            display::latency(latency.p99_us),
            display::latency(latency.p999_us),
            display::latency(latency.max_us),
        ]
    });
    table(&head, rows)
}

fn partitions(report: &Report) -> Vec<Vec<String>> {
    let head = [
        "busiest partitions",
        "asked/s",
        "served/s",
        "peak/s",
        "share",
        "refused",
    ];
    let rows = report.partitions.iter().take(PARTITIONS_SHOWN).map(|one| {
        vec![
            cut(&one.partition_key, 40),
            display::thousands(one.asked_per_second),
            display::thousands(one.served_per_second),
            count(one.peak_asked),
            format!("{:.1} %", one.share * 100.0),
            count(one.refused),
        ]
    });
    table(&head, rows)
}

fn table<const N: usize>(
    head: &[&str; N],
    rows: impl Iterator<Item = Vec<String>>,
) -> Vec<Vec<String>> {
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    std::iter::once(head).chain(rows).collect()
}

/// Rows in columns: so many of text, then figures, which end at the same place; what is over at the end of a row is text again.
fn columns(rows: &[Vec<String>], texts: usize, width: usize) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.width())
            .max()
    };
    let widths: Vec<usize> = (0..count)
        .map(|column| widest(column).unwrap_or_default())
        .collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let room = widths.get(column).copied().unwrap_or_default();
            let pad = " ".repeat(room.saturating_sub(cell.width()));
            let gap = if column > 0 { "  " } else { "" };
            let is_text = column < texts || texts == 2 && column + 1 == count;
            let cell = if is_text {
                format!("{cell}{pad}")
            } else {
                format!("{pad}{cell}")
            };
            let _ = write!(line, "{gap}{cell}");
        }
        cut(line.trim_end(), width)
    };
    rows.iter().map(line).collect()
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
            "retries   {} after waits of {} s in all, {} of them as the server asked; {} succeeded by them",
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
            display::latency(corrected.p50_us),
            display::latency(corrected.p99_us),
            display::latency(corrected.p999_us)
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
        .map(|(word, number)| format!("{} {}", cut(word, 60), count(**number)));
    each.collect::<Vec<_>>().join(", ")
}
