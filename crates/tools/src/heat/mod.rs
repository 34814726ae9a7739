//! Heat maps for readers: the scale of their values, the texts beside them, and a page for a browser.

mod dropped;
mod page;
mod scale;

pub use dropped::join_dropped;
pub use page::{HeatPage, html};
pub use scale::{LEVELS, SPAN, level};

use crate::stress::display::{bytes, latency, rate};
use partita_client::DateTime;
use partita_wire::admin::{Heat, HeatRow, NamedKey};

const TICKS_PER_SECOND: u64 = 10_000_000;

/// The name of a row: its partition, or its first key.
pub fn label(row: &HeatRow) -> String {
    let (HeatRow::Partition { partition: key, .. } | HeatRow::Range { start: key, .. }) = row;
    key.as_ref()
        .map_or_else(|| "(first)".to_owned(), NamedKey::to_string)
}

/// Whether no column of a row has load.
pub fn is_idle(row: &HeatRow) -> bool {
    !row.values().iter().flatten().any(|value| *value > 0.0)
}

/// The time at which a column begins; `None` for a time that the document does not say.
pub fn time_of_column(heat: &Heat, column: u64) -> Option<DateTime> {
    let from = DateTime::parse(heat.from.as_deref()?).ok()?;
    DateTime::from_ticks(from.ticks() + column * heat.step_seconds * TICKS_PER_SECOND)
}

/// The time of day, with seconds if they are not 0.
pub fn clock(time: DateTime) -> String {
    let (_, _, _, hour, minute, second, _) = time.fields();
    match second {
        0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

/// The start and the end of a map, with its day: `11:58 to 12:12 on 2026-02-02 UTC`.
pub fn period(heat: &Heat) -> String {
    let day = heat.from.as_deref().and_then(|from| from.split('T').next());
    let at = |column| time_of_column(heat, column).map(clock).unwrap_or_default();
    format!(
        "{} to {} on {} UTC",
        at(0),
        at(heat.columns as u64),
        day.unwrap_or_default()
    )
}

/// The length of a column: `10s`, `5m`, `1h`.
pub fn step_text(heat: &Heat) -> String {
    match heat.step_seconds {
        step if step.is_multiple_of(3600) => format!("{}h", step / 3600),
        step if step.is_multiple_of(60) => format!("{}m", step / 60),
        step => format!("{step}s"),
    }
}

/// A value of a cell with its unit: a rate, or a latency.
pub fn value_text(heat: &Heat, value: f64) -> String {
    if heat.metric.ends_with("_us") {
        return latency(value.round() as u64);
    }
    let per_second = value / heat.step_seconds.max(1) as f64;
    match heat.metric.as_str() {
        "bytes" => format!("{}/s", bytes(per_second.round() as u64)),
        _ => format!("{}/s", rate(per_second)),
    }
}

/// The highest value of some rows.
pub fn maximum<'r>(rows: impl IntoIterator<Item = &'r HeatRow>) -> f64 {
    let values = rows
        .into_iter()
        .flat_map(|row| row.values().iter().flatten());
    values.copied().fold(0.0, f64::max)
}
