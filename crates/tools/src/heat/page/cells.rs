//! The rows of a map: names, cells as SVG, and maxima.

use super::super::{LEVELS, SPAN, clock, is_idle, label, level};
use super::{maximum, time_of_column, value_text};
use crate::html::Text;
use partita_wire::admin::{Heat, HeatRow};
use std::fmt::Write as _;

/// Times on the axis, at most.
const TIMES_MAX: usize = 8;
/// The end of a name that stays visible when the name does not fit.
const NAME_END: usize = 10;
/// The longest name that fits on a phone.
const NAME_MAX: usize = 16;

/// A map to draw.
pub(super) struct Cells<'h> {
    pub(super) heat: &'h Heat,
    /// The number of the map on the page.
    pub(super) map: usize,
    pub(super) maximum: f64,
}

/// All rows with load, the axis of time, and the legend.
pub(super) fn cells(cells: &Cells<'_>) -> String {
    let mut out = "<div class=\"map\">\n".to_owned();
    let mut idle = 0;
    let mut last = None;
    for (at, row) in cells.heat.rows.iter().enumerate() {
        if is_idle(row) {
            idle += 1;
            continue;
        }
        let container = container(row);
        let begins = last.is_some_and(|last| last != container);
        cells.row(at, row, begins, &mut out);
        last = Some(container);
    }
    cells.axis(&mut out);
    out.push_str("</div>\n");
    cells.legend(idle, &mut out);
    out
}

impl Cells<'_> {
    /// A row; `begins` is whether the keys of a table or queue begin there.
    fn row(&self, at: usize, row: &HeatRow, begins: bool, out: &mut String) {
        let class = if begins { "row first" } else { "row" };
        let name = label(row);
        let (head, tail) = divided(&name);
        let most = value_text(self.heat, maximum([row]));
        let _ = write!(
            out,
            "<div class=\"{class}\"><span class=\"name\" title=\"{name}\"><span>{}</span><span>{}</span></span>\
             <svg class=\"cells\" data-map=\"{}\" data-row=\"{at}\" viewBox=\"0 0 {} 1\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}, at most {most}\">",
            Text(head),
            Text(tail),
            self.map,
            self.heat.columns,
            name = Text(&name),
        );
        for (class, from, to) in self.runs(row) {
            let width = to - from;
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{from}\" width=\"{width}\" height=\"1\"/>"
            );
        }
        let _ = writeln!(out, "</svg><span class=\"most\">{most}</span></div>");
    }

    /// Neighbouring cells of one level: its style sheet class, the first column, and the column after the last.
    fn runs(&self, row: &HeatRow) -> Vec<(String, usize, usize)> {
        let mut runs: Vec<(String, usize, usize)> = Vec::new();
        for (column, value) in row.values().iter().enumerate() {
            let Some(value) = value else { continue };
            let class = level(*value, self.maximum);
            let class = class.map_or_else(|| "idle".to_owned(), |level| format!("l{level}"));
            match runs.last_mut() {
                Some((last, _, to)) if *last == class && *to == column => *to += 1,
                _ => runs.push((class, column, column + 1)),
            }
        }
        runs
    }

    fn axis(&self, out: &mut String) {
        let columns = self.heat.columns.max(1);
        let step = columns.div_ceil(TIMES_MAX);
        out.push_str("<div class=\"row axis\" aria-hidden=\"true\"><span></span><span>");
        for column in (0..columns).step_by(step.max(1)) {
            let Some(time) = time_of_column(self.heat, column as u64) else {
                continue;
            };
            let left = column as f64 / columns as f64 * 100.0;
            let class = if (column / step).is_multiple_of(3) {
                ""
            } else {
                " class=\"more\""
            };
            let _ = write!(
                out,
                "<span{class} style=\"left:{left:.1}%\">{}</span>",
                clock(time)
            );
        }
        out.push_str("</span><span></span></div>\n");
    }

    fn legend(&self, idle: usize, out: &mut String) {
        let lowest = value_text(self.heat, self.maximum / SPAN);
        let highest = value_text(self.heat, self.maximum);
        let _ = write!(out, "<p class=\"scale\">{lowest} <span class=\"levels\">");
        for level in 0..LEVELS {
            let _ = write!(out, "<i class=\"l{level}\"></i>");
        }
        let _ = write!(
            out,
            "</span> {highest}, logarithmic <span class=\"levels\"><i class=\"idle\"></i> no requests</span>"
        );
        if idle > 0 {
            let noun = if idle == 1 { "row" } else { "rows" };
            let _ = write!(out, "; {idle} {noun} without requests not shown");
        }
        out.push_str("</p>\n");
    }
}

/// The table or queue of the first key of a key bucket. Partitions are in the order of their load, not of their tables.
fn container(row: &HeatRow) -> Option<&str> {
    let HeatRow::Range { start, .. } = row else {
        return None;
    };
    let start = start.as_ref()?;
    start.table_id.as_deref().or(start.queue_id.as_deref())
}

/// A name in two parts, of which the second stays visible.
fn divided(name: &str) -> (&str, &str) {
    let chars = name.chars().count();
    if chars <= NAME_MAX {
        return (name, "");
    }
    let at = name.char_indices().nth(chars - NAME_END);
    name.split_at(at.map_or(name.len(), |(at, _)| at))
}
