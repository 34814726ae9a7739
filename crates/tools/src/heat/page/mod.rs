//! A heat map as one HTML page: key buckets and the hottest partitions over time.
//!
//! - The page is complete without other files. A script of its own shows the keys, the time and the rates of the cell
//!   under the pointer; without it, the page shows the pictures and the maxima.
//! - The page follows the browser's light or dark setting, and fits on a phone.
//! - Names are escaped ([`crate::html::Text`]), and the script writes them as text.

mod cells;

use super::{label, maximum, period, step_text, time_of_column, value_text};
use crate::html::{self, Text};
use crate::stress::display::{latency, rate};
use cells::{Cells, cells};
use partita_wire::admin::{Heat, HeatRow};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// What a page shows.
#[derive(Debug, Clone)]
pub struct HeatPage {
    /// The server: the URL of its admin port.
    pub server: String,
    /// The time at which the page was made, RFC 3339.
    pub made_at: String,
    /// The load by key bucket, a map for each metric. The first metric gives the colours; all maps have the same times.
    pub keys: Vec<Heat>,
    /// The hottest partitions, in the same way.
    pub partitions: Vec<Heat>,
}

/// The values of the cells for the script.
#[derive(Serialize)]
struct Values<'p> {
    from: Option<&'p str>,
    step: u64,
    columns: usize,
    metrics: Vec<&'p str>,
    maps: Vec<Vec<RowValues<'p>>>,
}

/// The values of a row, for each metric and column.
#[derive(Serialize)]
struct RowValues<'p> {
    name: String,
    /// The end of a key bucket.
    before: Option<String>,
    values: Vec<&'p [Option<f64>]>,
}

/// The HTML page.
pub fn html(page: &HeatPage) -> String {
    let Some(first) = page.keys.first() else {
        return String::new();
    };
    let minute = page.made_at.get(..16).unwrap_or(&page.made_at);
    let mut out = html::begin(&format!("Heat of {}", page.server), STYLE, true);
    let _ = write!(
        out,
        "<header>\n<p class=\"kicker\">Heat map, {} UTC</p>\n<h1><bdi>{}</bdi></h1>\n<p class=\"lead\">{} from {}; a column is {}</p>\n</header>\n",
        Text(&minute.replace('T', " ")),
        Text(&page.server),
        Text(&title(&first.metric)),
        Text(&period(first)),
        step_text(first),
    );
    out.push_str(&html::figures(figures(&page.keys)));
    section(
        &mut out,
        "Keys",
        "Key buckets of tables and queues in key order. Each row begins at its key and ends at the next one.",
        &page.keys,
        0,
    );
    section(
        &mut out,
        "Hottest partitions",
        "The partitions and queues with the most load, hottest first. A blank cell: not among the hottest at that time.",
        &page.partitions,
        1,
    );
    // In JSON, a less-than sign occurs only inside of strings.
    let values = serde_json::to_string(&values(page)).unwrap_or_default();
    let values = values.replace('<', "\\u003c");
    let _ = write!(
        out,
        "<div id=\"tip\" role=\"status\" hidden></div>\n<script type=\"application/json\" id=\"values\">{values}</script>\n<script>\n{SCRIPT}</script>\n"
    );
    out + &html::end(&format!(
        "partita {}, {}",
        env!("CARGO_PKG_VERSION"),
        page.made_at
    ))
}

/// The name of a metric as a title.
fn title(metric: &str) -> String {
    match metric {
        "requests" => "Requests",
        "reads" => "Reads",
        "writes" => "Writes",
        "rows_scanned" => "Rows read",
        "bytes" => "Bytes",
        "throttled" => "Refused requests",
        "p50_us" => "Median latency",
        "p99_us" => "Latency, 99th percentile,",
        other => other,
    }
    .to_owned()
}

/// The most important numbers of the whole map.
fn figures(keys: &[Heat]) -> Vec<(String, &'static str)> {
    let of = |metric: &str| keys.iter().find(|heat| heat.metric == metric);
    let mut figures = Vec::new();
    if let Some(requests) = of("requests") {
        let sums = column_sums(requests);
        let step = requests.step_seconds.max(1) as f64;
        let mean = sums.iter().sum::<f64>() / sums.len().max(1) as f64;
        let most = sums.iter().copied().fold(0.0, f64::max);
        figures.push((format!("{}/s", rate(mean / step)), "requests, mean"));
        figures.push((format!("{}/s", rate(most / step)), "requests, highest"));
    }
    if let Some(p99) = of("p99_us") {
        let highest = maximum(&p99.rows).round() as u64;
        figures.push((latency(highest), "p99, highest"));
    }
    if let Some(throttled) = of("throttled") {
        let sum: f64 = column_sums(throttled).iter().sum();
        figures.push((rate(sum.round()), "refused by targets"));
    }
    figures
}

/// The sum of each column that the history knows.
fn column_sums(heat: &Heat) -> Vec<f64> {
    let column = |at: usize| {
        let values = heat.rows.iter().filter_map(|row| *row.values().get(at)?);
        values.reduce(|sum, value| sum + value)
    };
    (0..heat.columns).filter_map(column).collect()
}

/// A map with its axis and legend. `map` is its number among the maps of the page.
fn section(out: &mut String, name: &str, lead: &str, heats: &[Heat], map: usize) {
    let _ = write!(
        out,
        "<section>\n<h2>{name}</h2>\n<p class=\"lead\">{lead}</p>\n"
    );
    match heats.first() {
        Some(heat) if heat.rows.iter().any(|row| !super::is_idle(row)) => {
            let all = Cells {
                heat,
                map,
                maximum: maximum(&heat.rows),
            };
            out.push_str(&cells(&all));
        }
        _ => out.push_str("<p>No requests in this time.</p>\n"),
    }
    out.push_str("</section>\n");
}

fn values(page: &HeatPage) -> Values<'_> {
    let first = page.keys.first();
    let metrics = page.keys.iter().map(|heat| heat.metric.as_str());
    Values {
        from: first.and_then(|heat| heat.from.as_deref()),
        step: first.map_or(1, |heat| heat.step_seconds),
        columns: first.map_or(0, |heat| heat.columns),
        metrics: metrics.collect(),
        maps: [&page.keys, &page.partitions].map(|maps| rows(maps)).into(),
    }
}

/// The rows of the first map, with the values of all maps.
fn rows(maps: &[Heat]) -> Vec<RowValues<'_>> {
    let Some((first, others)) = maps.split_first() else {
        return Vec::new();
    };
    let index = |heat: &'_ Heat| -> HashMap<[String; 2], usize> {
        heat.rows.iter().map(keys).zip(0..).collect()
    };
    let indices: Vec<_> = others.iter().map(index).collect();
    let row = |row| {
        let key = keys(row);
        let others = others.iter().zip(&indices).map(|(heat, index)| {
            let found = index.get(&key).and_then(|at| heat.rows.get(*at));
            found.map_or(&[][..], HeatRow::values)
        });
        RowValues {
            name: label(row),
            before: match row {
                HeatRow::Range { end, .. } => end.as_ref().map(ToString::to_string),
                HeatRow::Partition { .. } => None,
            },
            values: std::iter::once(row.values()).chain(others).collect(),
        }
    };
    first.rows.iter().map(row).collect()
}

/// The keys that identify a row.
fn keys(row: &HeatRow) -> [String; 2] {
    let (first, second) = match row {
        HeatRow::Range { start, end, .. } => (start, end.as_ref()),
        HeatRow::Partition { partition, .. } => (partition, None),
    };
    [first.as_ref(), second].map(|key| key.map(|key| key.key.clone()).unwrap_or_default())
}

#[cfg(test)]
mod tests;
