//! The busiest partitions as bars, with the target as a line.

use super::axis::{Axis, rate_label};
use super::frame::{SIZES, Size, legend};
use super::text::{Text, shortened};
use crate::stress::{Report, shown};
use std::fmt::Write as _;

/// Bars that are drawn; the table below names more.
const BARS_MAX: usize = 12;
const BAR: f64 = 18.0;
const PITCH: f64 = 27.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 26.0;
/// Room for the figure behind a bar.
const RIGHT: f64 = 64.0;

/// The bars in both sizes, with the names of their colours.
pub(super) fn bars(report: &Report) -> String {
    let mut entries = vec![
        ("served", "read or written"),
        ("unserved", "asked for beyond that"),
    ];
    if report.settings.targets.partition.is_some() {
        entries.push(("target", "target of a partition"));
    }
    let mut out = legend(&entries);
    for size in SIZES {
        out.push_str(&picture(report, size));
    }
    out
}

fn picture(report: &Report, size: Size) -> String {
    let partitions = report
        .partitions
        .get(..BARS_MAX)
        .unwrap_or(&report.partitions);
    let (left, chars) = if size.class == "wide" {
        (210.0, 28)
    } else {
        (96.0, 12)
    };
    let height = TOP + PITCH * partitions.len() as f64 + BOTTOM;
    let width = size.width;
    let of = |asked: f64, served: f64| asked.max(served);
    let highest = partitions
        .iter()
        .map(|one| of(one.asked_per_second, one.served_per_second))
        .fold(0.0, f64::max);
    let target = report.settings.targets.partition;
    // A target far away would leave no bar to see: it is named then, and not drawn.
    let drawn = target.filter(|target| *target <= highest * 8.0);
    let axis = Axis::even(
        highest.max(drawn.unwrap_or(0.0)) * 1.02,
        left,
        width - RIGHT,
        size.time_marks / 2,
    );
    let mut svg = format!(
        "<svg class=\"plot {}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Entities a second of the busiest partitions\">\n",
        size.class
    );
    let bottom = height - BOTTOM;
    for value in axis.marks(size.time_marks / 2) {
        let x = axis.at(value);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"
        );
        let _ = writeln!(
            svg,
            "<text class=\"label middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 17.0,
            rate_label(value)
        );
    }
    for (number, one) in partitions.iter().enumerate() {
        let y = TOP + PITCH * number as f64 + (PITCH - BAR) / 2.0;
        let (asked, served) = (one.asked_per_second, one.served_per_second);
        let (zero, end, all) = (axis.at(0.0), axis.at(served), axis.at(of(asked, served)));
        let key = if one.partition_key.is_empty() {
            "(empty)"
        } else {
            &one.partition_key
        };
        let _ = writeln!(
            svg,
            "<g><title>{}: {} asked for a second, {} served</title>",
            Text(key),
            shown::whole(asked),
            shown::whole(served)
        );
        let _ = writeln!(
            svg,
            "<text class=\"key end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left - 10.0,
            y + 13.5,
            Text(&shortened(key, chars))
        );
        let _ = writeln!(
            svg,
            "<rect class=\"served\" x=\"{zero:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>",
            end - zero
        );
        let _ = writeln!(
            svg,
            "<rect class=\"unserved\" x=\"{end:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>",
            all - end
        );
        let label = format!("{}/s", rate_label(of(asked, served)));
        let _ = writeln!(
            svg,
            "<text class=\"label value\" x=\"{:.1}\" y=\"{:.1}\">{label}</text></g>",
            all + 7.0,
            y + 13.0
        );
    }
    if let Some(target) = drawn {
        let x = axis.at(target);
        let _ = writeln!(
            svg,
            "<line class=\"target\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom}\"/>",
            TOP - 4.0
        );
        let _ = writeln!(
            svg,
            "<text class=\"target-label middle\" x=\"{x:.1}\" y=\"{:.1}\">target {}/s</text>",
            TOP - 9.0,
            rate_label(target)
        );
    }
    svg.push_str("</svg>\n");
    svg
}
