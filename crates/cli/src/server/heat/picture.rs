//! The picture of a heat map, as lines of text: pure, so that tests can look at it.
//!
//! ```text
//! requests, a column is 1 min, 12:00 to 12:30 on 2026-02-02 UTC
//! (first)          ..::--==++**##%%@@@@@@@@@@@@@@    1,204/s
//! people 'm'              .:.::..::..                   12/s
//! ```
//!
//! Values are shown on a logarithmic scale, by ten steps from a thousandth of the most to the most.

use super::bound;
use crate::args::text;
use crate::output::cut_inside;
use clap::ArgMatches;
use indicatif::HumanCount;
use partita_client::DateTime;
use partita_tools::admin::{Heat, HeatRow};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// Signs of the ten steps without colour, from little to much.
const SIGNS: [char; LEVELS] = ['.', ':', '-', '=', '+', '*', 'o', '#', '%', '@'];
/// The steps as colours of the terminal's 256, from dark blue over green and yellow to red.
const COLORS: [u8; LEVELS] = [18, 20, 26, 32, 36, 40, 148, 220, 208, 196];
/// The steps as blocks, so that the picture says the same to those who do not tell its colours apart.
const BLOCKS: [char; LEVELS] = ['░', '░', '░', '▒', '▒', '▒', '▓', '▓', '█', '█'];
const LEVELS: usize = 10;
/// Served, and nothing happened.
const IDLE: char = '·';
/// How far below the most a value is shown as the least.
const SPAN: f64 = 1000.0;
/// The figure at the end of a row.
const FIGURE_WIDTH: usize = 11;
const LABEL_WIDTH_MIN: usize = 8;
const TICKS_PER_SECOND: u64 = 10_000_000;
/// Columns from one time on the axis to the next.
const AXIS_STEP: usize = 12;

/// What it is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Characters that every terminal and every log has.
    Plain,
    /// Blocks in 256 colours.
    Color,
}

impl Ink {
    /// What the flag says, and else what the terminal is.
    pub(crate) fn of(matches: &ArgMatches, is_terminal: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match text(matches, "color") {
            Some("always") => Self::Color,
            Some("never") => Self::Plain,
            _ if is_terminal && !set("NO_COLOR") && !dumb => Self::Color,
            _ => Self::Plain,
        }
    }
}

/// A map and where its parts are.
pub(crate) struct Picture<'h> {
    heat: &'h Heat,
    labels: Vec<String>,
    label_width: usize,
    most: f64,
}

impl<'h> Picture<'h> {
    /// How many columns of time there is room for at least.
    pub(crate) fn columns(width: usize) -> u64 {
        let columns = width.saturating_sub(label_width_max(width) + FIGURE_WIDTH + 2);
        columns.max(2) as u64
    }

    pub(crate) fn new(heat: &'h Heat, width: usize) -> Self {
        let label = |row: &HeatRow| {
            let place = row.partition.as_ref().or(row.start.as_ref());
            cut_inside(&bound(place, "(first)"), label_width_max(width))
        };
        let labels: Vec<String> = heat.rows.iter().map(label).collect();
        let widths = labels.iter().map(|label| label.width());
        let values = heat.rows.iter().flat_map(|row| row.values.iter().flatten());
        Self {
            label_width: widths.max().unwrap_or_default().max(LABEL_WIDTH_MIN),
            labels,
            most: values.copied().fold(0.0, f64::max),
            heat,
        }
    }

    /// All lines.
    pub(crate) fn text(&self, ink: Ink) -> String {
        let mut out = self.head();
        for (row, label) in self.heat.rows.iter().zip(&self.labels) {
            let pad = self.label_width.saturating_sub(label.width());
            let _ = write!(out, "{label}{:pad$} ", "");
            self.cells(row, ink, &mut out);
            let figure = self.figure(row);
            let _ = writeln!(out, " {figure:>FIGURE_WIDTH$}");
        }
        let _ = writeln!(out, "{}", self.axis().trim_end());
        self.legend(ink, &mut out);
        out
    }

    fn head(&self) -> String {
        let Heat {
            metric,
            from,
            to,
            step_seconds,
            ..
        } = self.heat;
        let step = match step_seconds {
            step if step % 3600 == 0 => format!("{} h", step / 3600),
            step if step % 60 == 0 => format!("{} min", step / 60),
            step => format!("{step} s"),
        };
        let clock = |text: &str| time(text, 0).map(clock).unwrap_or_default();
        let day = from.split('T').next().unwrap_or_default();
        format!(
            "{}, {} to {} on {day} UTC, a column is {step}\n",
            metric.replace('_', " "),
            clock(from),
            clock(to)
        )
    }

    fn cells(&self, row: &HeatRow, ink: Ink, out: &mut String) {
        let mut last = None;
        for value in &row.values {
            let level = value.map(|value| level(value, self.most));
            let (sign, color) = match (level, ink) {
                (None, _) => (' ', None),
                (Some(None), _) => (IDLE, Some(238)),
                (Some(Some(level)), Ink::Plain) => (SIGNS[level], None),
                (Some(Some(level)), Ink::Color) => (BLOCKS[level], Some(COLORS[level])),
            };
            let color = color.filter(|_| ink == Ink::Color);
            paint(color, &mut last, out);
            out.push(sign);
        }
        paint(None, &mut last, out);
        let missing = self.heat.columns.saturating_sub(row.values.len());
        let _ = write!(out, "{:missing$}", "");
    }

    /// The most of a row: a rate, or a latency.
    fn figure(&self, row: &HeatRow) -> String {
        let values = row.values.iter().flatten();
        let Some(most) = values.copied().reduce(f64::max) else {
            return String::new();
        };
        self.value(most)
    }

    /// A value in words.
    fn value(&self, value: f64) -> String {
        if self.heat.metric.ends_with("_us") {
            return if value >= 10_000.0 {
                format!("{:.0} ms", value / 1000.0)
            } else {
                format!("{:.2} ms", value / 1000.0)
            };
        }
        let rate = value / self.heat.step_seconds.max(1) as f64;
        if rate > 0.0 && rate < 9.95 {
            format!("{rate:.1}/s")
        } else {
            format!("{}/s", HumanCount(rate.round() as u64))
        }
    }

    /// Times under the columns in which they begin.
    fn axis(&self) -> String {
        let mut line = " ".repeat(self.label_width + 1);
        let mut column = 0;
        while column < self.heat.columns {
            let at = time(&self.heat.from, column as u64 * self.heat.step_seconds);
            let mark = format!("|{}", at.map(clock).unwrap_or_default());
            if column > 0 && column + mark.len() > self.heat.columns + FIGURE_WIDTH {
                break;
            }
            let _ = write!(line, "{mark:AXIS_STEP$}");
            column += AXIS_STEP;
        }
        line
    }

    fn legend(&self, ink: Ink, out: &mut String) {
        let mut last = None;
        let _ = write!(
            out,
            "{:width$} {} idle  ",
            "",
            IDLE,
            width = self.label_width
        );
        for level in 0..LEVELS {
            let (sign, color) = match ink {
                Ink::Plain => (SIGNS[level], None),
                Ink::Color => (BLOCKS[level], Some(COLORS[level])),
            };
            paint(color, &mut last, out);
            out.push(sign);
        }
        paint(None, &mut last, out);
        let least = self.value(self.most / SPAN);
        let _ = writeln!(out, "  {least} to {}, logarithmic", self.value(self.most));
    }
}

fn label_width_max(width: usize) -> usize {
    (width / 4).clamp(LABEL_WIDTH_MIN, 40)
}

/// Which of the steps a value is on, none when it is zero.
fn level(value: f64, most: f64) -> Option<usize> {
    if value <= 0.0 {
        return None;
    }
    let part = 1.0 + (value / most).log10() / SPAN.log10();
    let level = (part * LEVELS as f64).ceil() - 1.0;
    Some(level.clamp(0.0, (LEVELS - 1) as f64) as usize)
}

/// Changes the colour where it is another one.
fn paint(color: Option<u8>, last: &mut Option<u8>, out: &mut String) {
    if color == *last {
        return;
    }
    let _ = match color {
        Some(color) => write!(out, "\x1b[38;5;{color}m"),
        None => write!(out, "\x1b[0m"),
    };
    *last = color;
}

/// A time of the answer, and so many seconds.
pub(crate) fn time(text: &str, later_s: u64) -> Option<DateTime> {
    let from = DateTime::parse(text).ok()?;
    DateTime::from_ticks(from.ticks() + later_s * TICKS_PER_SECOND)
}

fn clock(time: DateTime) -> String {
    let (_, _, _, hour, minute, second, _) = time.fields();
    match second {
        0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_tools::admin::Place;

    fn heat() -> Heat {
        let place = |key: &str| {
            Some(Place {
                table: Some("people".to_owned()),
                partition_key: Some(key.to_owned()),
                ..Place::default()
            })
        };
        let row = |start, values: &[f64]| HeatRow {
            start,
            values: values
                .iter()
                .map(|value| (*value >= 0.0).then_some(*value))
                .collect(),
            ..HeatRow::default()
        };
        Heat {
            metric: "requests".to_owned(),
            from: "2026-02-02T11:58:00Z".to_owned(),
            to: "2026-02-02T12:12:00Z".to_owned(),
            step_seconds: 60,
            columns: 14,
            rows: vec![
                row(
                    None,
                    &[
                        -1.0, 0.0, 60.0, 120.0, 600.0, 6000.0, 12000.0, 60000.0, 60000.0, 0.0, 0.0,
                        0.0, 0.0, 0.0,
                    ],
                ),
                row(
                    place("a very long partition key"),
                    &[-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 6.0, 24000.0],
                ),
            ],
        }
    }

    #[test]
    fn times_go_across_and_keys_down() {
        let heat = heat();
        let text = Picture::new(&heat, 60).text(Ink::Plain);
        let expected = "\
requests, 11:58 to 12:12 on 2026-02-02 UTC, a column is 1 min
(first)          ·.:=o#@@·····     1,000/s
peop…ition key'         .%           400/s
                |11:58      |12:10
                · idle  .:-=+*o#%@  1.0/s to 1,000/s, logarithmic
";
        assert_eq!(text, expected);
    }

    #[test]
    fn colours_end_where_they_began() {
        let heat = heat();
        let text = Picture::new(&heat, 60).text(Ink::Color);
        for line in text.lines().filter(|line| line.contains('\x1b')) {
            let last = line.rfind("\x1b[").unwrap();
            assert!(line[last..].starts_with("\x1b[0m"), "{line:?}");
        }
        assert!(
            text.contains("\x1b[38;5;196m██\x1b[38;5;238m·····\x1b[0m"),
            "{text:?}"
        );
    }

    #[test]
    fn steps_are_even_on_a_logarithmic_scale() {
        let steps: Vec<_> = [0.0, 0.5, 1.0, 1.9, 2.1, 500.0, 502.0, 1000.0]
            .map(|value| level(value, 1000.0))
            .into_iter()
            .collect();
        let expected = [
            None,
            Some(0),
            Some(0),
            Some(0),
            Some(1),
            Some(8),
            Some(9),
            Some(9),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn latencies_are_in_milliseconds() {
        let mut heat = heat();
        heat.metric = "p99_us".to_owned();
        let text = Picture::new(&heat, 60).text(Ink::Plain);
        assert!(
            text.contains("60 ms") && text.contains("24 ms") && text.contains("0.06 ms"),
            "{text}"
        );
    }
}
