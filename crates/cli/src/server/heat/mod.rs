//! `partita heat`: the heat map in the terminal, time across and key ranges or partitions down.

mod picture;

use super::{Asking, bound, printed_whole};
use crate::args::text;
use crate::error::{End, Failure};
use crate::output::{self, Form, Output, Shape, Shown};
use crate::progress::many;
use crate::screen;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use partita_client::{DateTime, ValueRef};
use partita_tools::admin::{AdminPort, Answer, Heat, HeatRow};
use partita_wire::push_query_parameter;
use picture::{Ink, Picture};

/// What can be shown.
const METRICS: [&str; 8] = [
    "requests",
    "reads",
    "writes",
    "rows_scanned",
    "bytes",
    "throttled",
    "p50_us",
    "p99_us",
];

/// Lengths of a column, in seconds, that people read easily.
const STEPS_S: [u64; 14] = [
    10, 20, 30, 60, 120, 180, 240, 300, 600, 900, 1200, 1800, 2700, 3600,
];
const TICKS_PER_SECOND: u64 = 10_000_000;
/// Lines of the picture that are no rows: head, axis, legend, the last line of the talk, and the prompt behind.
const OTHER_LINES: usize = 6;

pub(crate) fn command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let color = PossibleValuesParser::new(["auto", "always", "never"]);
    Command::new("heat")
        .about("Draw the heat map: key ranges or partitions over time, up to a day")
        .arg(option("table", "TABLE", "Only ranges with keys of this table, NAME or ACCOUNT/NAME"))
        .arg(
            Arg::new("partitions")
                .long("partitions")
                .action(ArgAction::SetTrue)
                .help("Show the hottest partitions, those with most first, in place of key ranges"),
        )
        .arg(
            option("metric", "NAME", "What is shown")
                .value_parser(PossibleValuesParser::new(METRICS))
                .default_value("requests"),
        )
        .arg(
            option("last", "TIME", "How long before the end it begins: a number with s, m or h, up to 24h [default: what is known of the last hour]")
                .value_parser(seconds),
        )
        .arg(option("to", "TIME", "When it ends, such as 2026-01-31T12:00:00Z [default: now]"))
        .arg(
            option("rows", "N", "Pieces of the key space or partitions at most, 1 to 512 [default: what fits]")
                .value_parser(value_parser!(u16).range(1..=512)),
        )
        .arg(
            option("width", "COLUMNS", "Of the picture, 40 to 500 [default: the terminal's, else 80]")
                .value_parser(value_parser!(u16).range(40..=500)),
        )
        .arg(
            option("color", "WHEN", "Whether to draw in colour; NO_COLOR switches it off")
                .value_parser(color)
                .default_value("auto"),
        )
}

/// A length of time such as `90s`, `15m`, `6h`, in seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let expected = || "expected a number with s, m or h, from 10s to 24h".to_owned();
    let unit = text.chars().last().ok_or_else(expected)?;
    let scale = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(expected()),
    };
    let number = text
        .strip_suffix(unit)
        .and_then(|text| text.parse::<u64>().ok());
    let seconds = number.and_then(|number| number.checked_mul(scale));
    seconds
        .filter(|seconds| (10..=86_400).contains(seconds))
        .ok_or_else(expected)
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let Asking { port, talk } = Asking::of(matches)?;
    let screen = screen::size();
    let number = |name: &str| {
        matches
            .get_one::<u16>(name)
            .map(|number| usize::from(*number))
    };
    let width = number("width").unwrap_or_else(|| screen.map_or(80, |(columns, _)| columns));
    let fitting = || screen.map_or(24, |(_, lines)| lines.saturating_sub(OTHER_LINES).max(1));
    let rows = number("rows").unwrap_or_else(fitting).min(512);
    let asked = Asked {
        matches,
        rows,
        columns: Picture::columns(width),
    };
    let answer = asked.answer(&port).await?;
    let mut heat: Heat = answer.read()?;
    if matches.get_one::<u64>("last").is_none() {
        trim(&mut heat);
    }
    let is_known = heat
        .rows
        .iter()
        .flat_map(|row| &row.values)
        .any(Option::is_some);
    if !printed_whole(matches, &answer)? {
        match Form::of(matches) {
            Form::Table if is_known => {
                let ink = Ink::of(matches, screen.is_some());
                output::print(&Picture::new(&heat, width).text(ink))?;
            }
            Form::Table => {}
            _ => by_cell(matches, &heat)?,
        }
    }
    let (columns, rows) = (
        many(heat.columns as u64, "column", "columns"),
        heat.rows.len() as u64,
    );
    talk.end(&match is_known {
        true if matches.get_flag("partitions") => {
            format!("{} in {columns}", many(rows, "partition", "partitions"))
        }
        true => format!(
            "{} of the key space in {columns}",
            many(rows, "piece", "pieces")
        ),
        false => "nothing is known of that time".to_owned(),
    });
    Ok(if is_known {
        End::Done
    } else {
        End::NothingFound
    })
}

/// What to ask for, so that it fits.
struct Asked<'m> {
    matches: &'m ArgMatches,
    rows: usize,
    columns: u64,
}

impl Asked<'_> {
    /// The map. Unless the user said how long, it begins where something is known.
    async fn answer(&self, port: &AdminPort) -> Result<Answer, Failure> {
        let last = self.matches.get_one::<u64>("last").copied();
        let hour = port.page(&self.path(last.unwrap_or(3600))).await?;
        if last.is_some() {
            return Ok(hour);
        }
        let heat: Heat = hour.read()?;
        let Some(first) = first_known(&heat) else {
            return Ok(hour);
        };
        let known_s = (heat.columns - first) as u64 * heat.step_seconds;
        if step(known_s, self.columns) == heat.step_seconds {
            return Ok(hour);
        }
        Ok(port.page(&self.path(known_s)).await?)
    }

    fn path(&self, last_s: u64) -> String {
        let mut query = String::new();
        let mut push = |name: &str, value: &str| push_query_parameter(name, value, &mut query);
        push("last", &last_s.to_string());
        push("step", &step(last_s, self.columns).to_string());
        push("rows", &self.rows.to_string());
        if self.matches.get_flag("partitions") {
            push("by", "partition");
        }
        for name in ["to", "metric", "table"] {
            if let Some(value) = text(self.matches, name) {
                push(name, value);
            }
        }
        format!("/admin/v1/heat?{query}")
    }
}

/// The first column of which anything is known.
fn first_known(heat: &Heat) -> Option<usize> {
    let known = |column: usize| {
        let mut values = heat.rows.iter().map(|row| row.values.get(column));
        values.any(|value| value.is_some_and(Option::is_some))
    };
    (0..heat.columns).find(|column| known(*column))
}

/// Takes away the columns before the first of which anything is known.
fn trim(heat: &mut Heat) {
    let Some(first) = first_known(heat) else {
        return;
    };
    let Some(from) = picture::time(&heat.from, first as u64 * heat.step_seconds) else {
        return;
    };
    heat.from = from.text().to_string();
    heat.columns -= first;
    for row in &mut heat.rows {
        row.values.drain(..first.min(row.values.len()));
    }
}

/// The shortest easy column with which so much time fits, its ends rounded, into so many columns.
fn step(last_s: u64, columns: u64) -> u64 {
    let fits = |step: &u64| last_s.div_ceil(*step) < columns.max(2);
    let longest = last_s.div_ceil(columns.max(2) - 1).next_multiple_of(10);
    STEPS_S.into_iter().find(fits).unwrap_or(longest)
}

/// A record for each value that is known.
fn by_cell(matches: &ArgMatches, heat: &Heat) -> Result<(), Failure> {
    let mut output = Output::of(matches, Shape::Rows, None);
    let from = picture::time(&heat.from, 0);
    let seconds = ValueRef::Int64(heat.step_seconds.try_into().unwrap_or(i64::MAX));
    for row in &heat.rows {
        let places = places(row);
        for (column, value) in row.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let at = from.and_then(|from| {
                let later = column as u64 * heat.step_seconds * TICKS_PER_SECOND;
                DateTime::from_ticks(from.ticks() + later)
            });
            let at = at.map(|at| at.text().to_string()).unwrap_or_default();
            let mut record = vec![("Time", ValueRef::String(&at))];
            record.extend(
                places
                    .iter()
                    .map(|(name, text)| (*name, ValueRef::String(text))),
            );
            record.push(("Seconds", seconds));
            record.push(("Value", ValueRef::Double(*value)));
            output.row(&Shown::Record(&record))?;
        }
    }
    output.end()
}

/// What a row is of, by column.
fn places(row: &HeatRow) -> Vec<(&'static str, String)> {
    let Some(partition) = &row.partition else {
        let (start, end) = (bound(row.start.as_ref(), ""), bound(row.end.as_ref(), ""));
        return vec![("From", start), ("Before", end)];
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    vec![
        ("Table", text(&partition.table)),
        ("PartitionKey", text(&partition.partition_key)),
        ("Account", text(&partition.account)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        assert_eq!(
            (seconds("90s"), seconds("15m"), seconds("24h")),
            (Ok(90), Ok(900), Ok(86_400))
        );
        for text in [
            "",
            "h",
            "9s",
            "25h",
            "1d",
            "-1m",
            "99999999999999999999h",
            "é",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_nobody_knows_is_not_drawn() {
        let row = |values: &[Option<f64>]| partita_tools::admin::HeatRow {
            values: values.to_vec(),
            ..Default::default()
        };
        let mut heat = Heat {
            from: "2026-02-02T12:00:00Z".to_owned(),
            step_seconds: 60,
            columns: 3,
            rows: vec![row(&[None, Some(1.0), None]), row(&[None, None, Some(2.0)])],
            ..Heat::default()
        };
        trim(&mut heat);
        assert_eq!((&*heat.from, heat.columns), ("2026-02-02T12:01:00Z", 2));
        assert_eq!(heat.rows[1].values, [None, Some(2.0)]);
        for row in &mut heat.rows {
            row.values.fill(None);
        }
        trim(&mut heat);
        assert_eq!(heat.columns, 2);
    }

    #[test]
    fn columns_are_as_short_as_fits() {
        assert_eq!(
            (step(3600, 200), step(3600, 61), step(3600, 60)),
            (20, 60, 120)
        );
        assert_eq!(
            (step(60, 40), step(86_400, 48), step(86_400, 10)),
            (10, 2700, 9600)
        );
    }
}
