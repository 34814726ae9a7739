//! `partita heat`: the heat map in the terminal, time across and key buckets or partitions down; or as a page.

mod columns;
mod page;
mod picture;

use super::bound;
use super::ranges::missing;
use crate::args::choice;
use crate::new_file;
use crate::output::Format;
use crate::prelude::*;
use crate::screen;
use crate::units::parse_duration;
use clap::builder::TypedValueParser;
use clap::{ValueEnum, value_parser};
use columns::{drop_unfinished, known_s, step, trim};
use partita_tools::admin::{AdminError, AdminPort, HeatQuery, HeatRows, Page};
use partita_tools::heat::{is_idle, join_dropped, label, time_of_column};
use partita_wire::admin::{Heat, HeatMetric, HeatRow};
use picture::{Ink, Picture};
use std::path::PathBuf;
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// Default time span of the map, in seconds.
const HOUR_S: u64 = 3600;
/// Terminal lines that are not rows of the map: the typed command, the head, the axis, the legend, the count of rows
/// and columns, and the shell's prompt.
const OTHER_LINES: usize = 6;
/// Maximum number of rows of a map.
const ROWS_MAX: usize = 512;
/// How often a map is requested again, at most.
const PAGES_MAX: usize = 2;

/// Draw the heat map: keys or partitions over time, up to a day
#[derive(clap::Args)]
pub(crate) struct HeatCommand {
    /// Only this table, NAME or ACCOUNT/NAME: its partitions, or the buckets with its keys
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Show the hottest partitions, hottest first, instead of key buckets
    #[arg(long)]
    partitions: bool,
    /// Metric to draw
    #[arg(long, value_name = "NAME", value_parser = metrics(), default_value = "requests")]
    metric: HeatMetric,
    /// Time span of the map, such as 90s, 15m or 6h, from 10s to 24h [default: the part of the last hour that has data]
    #[arg(long, value_name = "TIME", value_parser = parse_last)]
    last: Option<u64>,
    /// End of the map, such as 2026-01-31T12:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Maximum number of key buckets or partitions, 1 to 512 [default: as many as fit on the terminal]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=512))]
    rows: Option<u16>,
    /// Width of the map, 40 to 500 [default: the terminal's, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = value_parser!(u16).range(40..=500))]
    width: Option<u16>,
    /// Whether to use colours; NO_COLOR switches them off
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorArg::Auto)]
    color: ColorArg,
    /// Write the map to FILE as a page for a browser: key buckets and the hottest partitions, with all metrics
    #[arg(long, value_name = "FILE", conflicts_with_all = ["partitions", "width", "color", "output"])]
    html: Option<PathBuf>,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ColorArg {
    Auto,
    Always,
    Never,
}

fn metrics() -> impl TypedValueParser<Value = HeatMetric> {
    choice(HeatMetric::ALL.map(|metric| (metric.name(), metric)))
}

/// Parses `--last`: the time span of the map, in seconds.
fn parse_last(text: &str) -> Result<u64, String> {
    let expected = || "expected a duration from 10s to 24h, such as 90s, 15m or 6h".to_owned();
    let length = parse_duration(text).map_err(|_| expected())?;
    let allowed = Duration::from_secs(10)..=Duration::from_secs(86_400);
    if !allowed.contains(&length) || length.subsec_nanos() != 0 {
        return Err(expected());
    }
    Ok(length.as_secs())
}

impl AdminPortCommand for HeatCommand {
    async fn run(self, port: AdminPort, mut progress: Progress) -> CommandResult {
        new_file::check_writable(self.html.as_ref(), &self.confirm, &mut progress)?;
        if self.html.is_some() {
            return self.write_page(&port, progress).await;
        }
        let screen = screen::size();
        let terminal_width = || screen.map_or(80, |(columns, _)| columns);
        let width = self.width.map_or_else(terminal_width, usize::from);
        let page = self.page(&port, screen, width).await?;
        let mut heat = page.document;
        if self.last.is_none() {
            if self.to.is_none() {
                drop_unfinished(&mut heat);
            }
            trim(&mut heat);
        }
        let mut values = heat.rows.iter().flat_map(HeatRow::values);
        let is_known = values.any(Option::is_some);
        let mut idle = 0;
        match self.output.format() {
            Format::Json => output::print(&page.text)?,
            Format::Table if is_known => {
                join_dropped(&mut heat);
                idle = drop_idle(&mut heat);
                let ink = Ink::new(self.color, screen.is_some());
                output::print(&Picture::new(&heat, width).text(ink))?;
            }
            Format::Table => {}
            Format::Jsonl | Format::Csv => write_values(self.output, &heat)?,
        }
        if self.output.format() != Format::Json {
            note_missing(&heat);
        }
        if !is_known {
            return progress.finish("no data for that time", Outcome::NothingFound);
        }
        progress.finish(&self.summary(&heat, idle), Outcome::Done)
    }
}

impl HeatCommand {
    /// The last line of the command.
    fn summary(&self, heat: &Heat, idle: u64) -> String {
        let columns = many(heat.columns as u64, "column", "columns");
        let rows = heat.rows.len() as u64;
        let rows = if self.partitions {
            many(rows, "partition", "partitions")
        } else {
            many(rows, "key bucket", "key buckets")
        };
        match idle {
            0 => format!("{rows} in {columns}"),
            idle => format!("{rows} in {columns}, {idle} more without requests"),
        }
    }

    /// Requests the map, and requests it again if other columns suit it better: if its labels need another width, or,
    /// without `--last`, if only a part of the last hour has data.
    async fn page(
        &self,
        port: &AdminPort,
        screen: Option<(usize, usize)>,
        width: usize,
    ) -> Result<Page<Heat>, AdminError> {
        let fitting = || screen.map_or(24, |(_, lines)| lines.saturating_sub(OTHER_LINES).max(1));
        let rows = self.rows.map_or_else(fitting, usize::from);
        let by = if self.partitions {
            HeatRows::Partitions
        } else {
            HeatRows::Ranges
        };
        let mut last_s = self.last.unwrap_or(HOUR_S);
        let mut columns = Picture::columns(width, 0);
        let mut page = port.heat(&self.query(by, last_s, columns, rows)).await?;
        for _ in 0..PAGES_MAX {
            let heat = &page.document;
            let busy = heat.rows.iter().filter(|row| !is_idle(row));
            let label_width = busy.map(|row| label(row).width()).max();
            columns = Picture::columns(width, label_width.unwrap_or_default());
            last_s = self.last.unwrap_or_else(|| known_s(heat).unwrap_or(last_s));
            if step(last_s, columns) == heat.step_seconds {
                break;
            }
            page = port.heat(&self.query(by, last_s, columns, rows)).await?;
        }
        Ok(page)
    }

    /// The query of a map of `last_s` seconds in at most `columns` columns.
    fn query(&self, by: HeatRows, last_s: u64, columns: u64, rows: usize) -> HeatQuery {
        HeatQuery {
            to: self.to.clone(),
            last_seconds: last_s,
            step_seconds: step(last_s, columns),
            metric: self.metric,
            table: self.table.clone(),
            by,
            rows: rows.min(ROWS_MAX),
        }
    }
}

/// Removes the rows without load, and returns their number; keeps all if no row has load.
fn drop_idle(heat: &mut Heat) -> u64 {
    let before = heat.rows.len();
    if !heat.rows.iter().all(is_idle) {
        heat.rows.retain(|row| !is_idle(row));
    }
    (before - heat.rows.len()) as u64
}

/// Writes a row for each known value.
fn write_values(args: OutputArgs, heat: &Heat) -> Result<(), CommandError> {
    args.write(Shape::Rows, |output| {
        for row in &heat.rows {
            let names = names(row);
            for (column, value) in row.values().iter().enumerate() {
                let Some(value) = value else { continue };
                let at = time_of_column(heat, column as u64);
                let at = at.map(|at| at.text().to_string()).unwrap_or_default();
                let mut record = vec![("time", Field::text(&at))];
                record.extend(names.iter().map(|(name, text)| (*name, Field::text(text))));
                record.push(("seconds", Field::count(heat.step_seconds)));
                record.push(("value", Field::double(*value)));
                output.record(&record)?;
            }
        }
        Ok(())
    })
}

/// Names and values of the fields that identify the range or partition of a row.
fn names(row: &HeatRow) -> Vec<(&'static str, String)> {
    match row {
        HeatRow::Range { start, end, .. } => {
            let (start, end) = (bound(start.as_ref(), ""), bound(end.as_ref(), ""));
            vec![("from", start), ("before", end)]
        }
        HeatRow::Partition { partition, .. } => {
            let key = partition.clone().unwrap_or_default();
            vec![
                ("table", key.table.unwrap_or_default()),
                ("PartitionKey", key.partition_key.unwrap_or_default()),
                ("account", key.account.unwrap_or_default()),
            ]
        }
    }
}

/// Says what is missing in a map, and why.
fn note_missing(heat: &Heat) {
    let missing = missing(&heat.missing);
    missing.iter().for_each(|note| message(note));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        assert_eq!(
            (parse_last("90s"), parse_last("15m"), parse_last("24h")),
            (Ok(90), Ok(900), Ok(86_400))
        );
        for text in [
            "",
            "h",
            "9s",
            "25h",
            "2d",
            "-1m",
            "10500ms",
            "99999999999999999999h",
            "é",
        ] {
            assert!(parse_last(text).is_err(), "{text}");
        }
    }
}
