//! The picture of a heat map, as lines of text: a pure function of the document, for tests.
//!
//! ```text
//! requests, 12:00 to 12:30 on 2026-02-02 UTC, a column is 1m
//! (first)          ..::--==++**##%%@@@@@@@@@@@@@@    1,204/s
//! people 'm'              .:.::..::..                   12/s
//! ```
//!
//! Values are on a logarithmic scale, in ten levels from a thousandth of the maximum to the maximum.

use super::ColorArg;
use crate::screen::truncate_inside;
use partita_tools::heat::{
    self, LEVELS, SPAN, clock, level, maximum, period, step_text, time_of_column, value_text,
};
use partita_wire::admin::{Heat, HeatRow};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// How a level of the scale is drawn.
struct Drawn {
    /// The character of this level in a picture without colour.
    sign: char,
    /// The number of its colour among the 256 colours of a terminal.
    color: u8,
    /// The character of this level in a picture with colour: a block, so that readers need not distinguish the colours.
    block: char,
}

/// The levels, from low to high. Colours go from dark blue over green and yellow to red.
const DRAWN: [Drawn; LEVELS] = [
    drawn('.', 18, '░'),
    drawn(':', 20, '░'),
    drawn('-', 26, '░'),
    drawn('=', 32, '▒'),
    drawn('+', 36, '▒'),
    drawn('*', 40, '▒'),
    drawn('o', 148, '▓'),
    drawn('#', 220, '▓'),
    drawn('%', 208, '█'),
    drawn('@', 196, '█'),
];
/// The character of a column of time in which a range or partition had no requests.
const IDLE: char = '·';
/// The colour of [`IDLE`]: grey.
const IDLE_COLOR: u8 = 238;
/// Width of the text at the end of a row, which is the maximum of the row's values.
const MAXIMUM_WIDTH: usize = 11;
const LABEL_WIDTH_MIN: usize = 8;
/// Distance between two times on the axis, in columns.
const AXIS_STEP: usize = 12;

const fn drawn(sign: char, color: u8, block: char) -> Drawn {
    Drawn { sign, color, block }
}

/// How levels are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// ASCII characters.
    Plain,
    /// Blocks in 256 colours.
    Color,
}

impl Ink {
    /// The flag decides about colours. Without the flag, the terminal and the environment decide.
    pub(super) fn new(color: ColorArg, is_terminal: bool) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match color {
            ColorArg::Always => Self::Color,
            ColorArg::Auto if is_terminal && !is_set("NO_COLOR") && !is_dumb => Self::Color,
            ColorArg::Auto | ColorArg::Never => Self::Plain,
        }
    }

    /// Character and colour of a level.
    fn of(self, level: &Drawn) -> (char, Option<u8>) {
        match self {
            Self::Plain => (level.sign, None),
            Self::Color => (level.block, Some(level.color)),
        }
    }
}

/// A map with its labels.
pub(super) struct Picture<'h> {
    heat: &'h Heat,
    labels: Vec<String>,
    label_width: usize,
    maximum: f64,
    /// Width of the terminal.
    width: usize,
}

impl<'h> Picture<'h> {
    /// Number of time columns that fit beside labels of this width.
    pub(super) fn columns(width: usize, label_width: usize) -> u64 {
        let labels = label_width.clamp(LABEL_WIDTH_MIN, label_width_max(width));
        let columns = width.saturating_sub(labels + MAXIMUM_WIDTH + 2);
        columns.max(2) as u64
    }

    pub(super) fn new(heat: &'h Heat, width: usize) -> Self {
        // Labels have all columns that the map leaves free.
        let free = width.saturating_sub(heat.columns + MAXIMUM_WIDTH + 2);
        let width_max = free.max(LABEL_WIDTH_MIN);
        let label = |row: &HeatRow| truncate_inside(&heat::label(row), width_max);
        let labels: Vec<String> = heat.rows.iter().map(label).collect();
        let widths = labels.iter().map(|label| label.width());
        Self {
            label_width: widths.max().unwrap_or_default().max(LABEL_WIDTH_MIN),
            labels,
            maximum: maximum(&heat.rows),
            width,
            heat,
        }
    }

    /// All lines.
    pub(super) fn text(&self, ink: Ink) -> String {
        let mut out = self.head();
        for (row, label) in self.heat.rows.iter().zip(&self.labels) {
            let pad = self.label_width.saturating_sub(label.width());
            let _ = write!(out, "{label}{:pad$} ", "");
            self.cells(row, ink, &mut out);
            let maximum = self.row_maximum(row);
            let _ = writeln!(out, " {maximum:>MAXIMUM_WIDTH$}");
        }
        let _ = writeln!(out, "{}", self.axis().trim_end());
        self.legend(ink, &mut out);
        out
    }

    fn head(&self) -> String {
        let metric = self.heat.metric.replace('_', " ");
        let (period, step) = (period(self.heat), step_text(self.heat));
        format!("{metric}, {period}, a column is {step}\n")
    }

    fn cells(&self, row: &HeatRow, ink: Ink, out: &mut String) {
        let mut last = None;
        for value in row.values() {
            let level = value.map(|value| level(value, self.maximum));
            let (sign, color) = match level {
                None => (' ', None),
                Some(None) => (IDLE, Some(IDLE_COLOR)),
                Some(Some(level)) => ink.of(&DRAWN[level]),
            };
            let color = color.filter(|_| ink == Ink::Color);
            paint(color, &mut last, out);
            out.push(sign);
        }
        paint(None, &mut last, out);
        let missing = self.heat.columns.saturating_sub(row.values().len());
        let _ = write!(out, "{:missing$}", "");
    }

    /// The maximum of a row: a rate, or a latency.
    fn row_maximum(&self, row: &HeatRow) -> String {
        let maximum = row.values().iter().flatten().copied().reduce(f64::max);
        maximum.map_or_else(String::new, |value| value_text(self.heat, value))
    }

    /// The axis: for every twelfth column, the time at which it begins.
    fn axis(&self) -> String {
        let mut line = " ".repeat(self.label_width + 1);
        let mut column = 0;
        while column < self.heat.columns {
            let at = time_of_column(self.heat, column as u64);
            let mark = format!("|{}", at.map(clock).unwrap_or_default());
            if column > 0 && column + mark.len() > self.heat.columns + MAXIMUM_WIDTH {
                break;
            }
            let _ = write!(line, "{mark:AXIS_STEP$}");
            column += AXIS_STEP;
        }
        line
    }

    /// The scale below the map, or further left if it does not fit there.
    fn legend(&self, ink: Ink, out: &mut String) {
        let [lowest, highest] =
            [self.maximum / SPAN, self.maximum].map(|value| value_text(self.heat, value));
        let (head, tail) = (
            format!(" {IDLE} idle  "),
            format!("  {lowest} to {highest}, logarithmic"),
        );
        let width = head.width() + LEVELS + tail.width();
        let indent = self.label_width.min(self.width.saturating_sub(width));
        let _ = write!(out, "{:indent$}{head}", "");
        let mut last = None;
        for level in &DRAWN {
            let (sign, color) = ink.of(level);
            paint(color, &mut last, out);
            out.push(sign);
        }
        paint(None, &mut last, out);
        let _ = writeln!(out, "{tail}");
    }
}

/// The maximum width of labels, if the map uses the rest of the line.
fn label_width_max(width: usize) -> usize {
    (width * 2 / 5).clamp(LABEL_WIDTH_MIN, 60)
}

/// Changes the colour, if it differs from the last one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::admin::{Missing, NamedKey};

    fn heat() -> Heat {
        let start = |key: &str| {
            Some(NamedKey {
                table: Some("people".to_owned()),
                partition_key: Some(key.to_owned()),
                ..NamedKey::default()
            })
        };
        let row = |start, values: &[f64]| HeatRow::Range {
            start,
            end: None,
            values: values
                .iter()
                .map(|value| (*value >= 0.0).then_some(*value))
                .collect(),
        };
        Heat {
            metric: "requests".to_owned(),
            from: Some("2026-02-02T11:58:00Z".to_owned()),
            to: Some("2026-02-02T12:12:00Z".to_owned()),
            step_seconds: 60,
            columns: 14,
            missing: Missing::default(),
            rows: vec![
                row(
                    None,
                    &[
                        -1.0, 0.0, 60.0, 120.0, 600.0, 6000.0, 12000.0, 60000.0, 60000.0, 0.0, 0.0,
                        0.0, 0.0, 0.0,
                    ],
                ),
                row(
                    start("a very long partition key"),
                    &[-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 6.0, 24000.0],
                ),
            ],
        }
    }

    #[test]
    fn columns_are_times_and_rows_are_keys() {
        let heat = heat();
        let text = Picture::new(&heat, 42).text(Ink::Plain);
        let expected = "\
requests, 11:58 to 12:12 on 2026-02-02 UTC, a column is 1m
(first)          ·.:=o#@@·····     1,000/s
peop…ition key'         .%           400/s
                |11:58      |12:10
 · idle  .:-=+*o#%@  1.0/s to 1,000/s, logarithmic
";
        assert_eq!(text, expected);
    }

    /// B19: labels are whole where the map leaves room for them.
    #[test]
    fn b19_labels_use_the_width_that_the_map_leaves_free() {
        let heat = heat();
        let text = Picture::new(&heat, 80).text(Ink::Plain);
        assert!(
            text.contains("\npeople 'a very long partition key' "),
            "{text}"
        );
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        for width in [42, 60] {
            let text = Picture::new(&heat, width).text(Ink::Plain);
            let legend = text.lines().last().unwrap().width();
            assert!(legend <= width.max(50), "{text}");
        }
    }

    #[test]
    fn each_line_resets_its_colour() {
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
    fn latencies_are_in_milliseconds() {
        let mut heat = heat();
        heat.metric = "p99_us".to_owned();
        let text = Picture::new(&heat, 60).text(Ink::Plain);
        assert!(
            text.contains("60.0 ms") && text.contains("24.0 ms") && text.contains("60 µs"),
            "{text}"
        );
    }
}
