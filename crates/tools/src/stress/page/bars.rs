//! The busiest partitions as bars, with the target as a line.

use super::axis::{Axis, rate_label};
use super::frame::{SIZES, Size, legend};
use super::text::{Text, shortened};
use crate::stress::{PartitionMetrics, Report, display};
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

/// Where bars are drawn.
struct Bars {
    size: Size,
    axis: Axis,
    /// Where bars begin, and how many letters of a key have room before that.
    left: f64,
    key_chars: usize,
    bottom: f64,
}

fn picture(report: &Report, size: Size) -> String {
    let partitions = report
        .partitions
        .get(..BARS_MAX)
        .unwrap_or(&report.partitions);
    let highest = partitions.iter().map(length).fold(0.0, f64::max);
    // A target far away would leave no bar to see: it is named elsewhere then, and not drawn.
    let target = report.settings.targets.partition;
    let target = target.filter(|target| *target <= highest * 8.0);
    let is_wide = size.class == "wide";
    let (left, key_chars) = if is_wide { (210.0, 28) } else { (96.0, 12) };
    let right = size.width - RIGHT;
    let bars = Bars {
        size,
        axis: Axis::even(
            highest.max(target.unwrap_or(0.0)) * 1.02,
            left,
            right,
            size.time_marks / 2,
        ),
        left,
        key_chars,
        bottom: TOP + PITCH * partitions.len() as f64,
    };
    let mut svg = format!(
        "<svg class=\"plot {}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Entities a second of the busiest partitions\">\n",
        size.class,
        size.width,
        bars.bottom + BOTTOM
    );
    bars.scale(&mut svg);
    for (number, one) in partitions.iter().enumerate() {
        bars.bar(number, one, &mut svg);
    }
    if let Some(target) = target {
        bars.target(target, &mut svg);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Entities a second that a bar stands for.
fn length(one: &PartitionMetrics) -> f64 {
    one.asked_per_second.max(one.served_per_second)
}

impl Bars {
    fn scale(&self, svg: &mut String) {
        let Self {
            size, axis, bottom, ..
        } = self;
        for value in axis.marks(size.time_marks / 2) {
            let (x, label) = (axis.at(value), rate_label(value));
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"
            );
            let _ = writeln!(
                svg,
                "<text class=\"label middle\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>",
                bottom + 17.0
            );
        }
    }

    fn bar(&self, number: usize, one: &PartitionMetrics, svg: &mut String) {
        let axis = &self.axis;
        let y = TOP + PITCH * number as f64 + (PITCH - BAR) / 2.0;
        let (asked, served) = (one.asked_per_second, one.served_per_second);
        let (zero, end, all) = (axis.at(0.0), axis.at(served), axis.at(length(one)));
        let key = match one.partition_key.as_str() {
            "" => "(empty)",
            key => key,
        };
        let name = shortened(key, self.key_chars);
        let _ = writeln!(
            svg,
            "<g><title>{}: {} asked for a second, {} served</title>",
            Text(key),
            display::thousands(asked),
            display::thousands(served)
        );
        let _ = writeln!(
            svg,
            "<text class=\"key end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            self.left - 10.0,
            y + 13.5,
            Text(&name)
        );
        for (class, from, to) in [("served", zero, end), ("unserved", end, all)] {
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>",
                to - from
            );
        }
        let label = rate_label(length(one));
        let _ = writeln!(
            svg,
            "<text class=\"label value\" x=\"{:.1}\" y=\"{:.1}\">{label}/s</text></g>",
            all + 7.0,
            y + 13.0
        );
    }

    fn target(&self, target: f64, svg: &mut String) {
        let (x, label, bottom) = (self.axis.at(target), rate_label(target), self.bottom);
        let _ = writeln!(
            svg,
            "<line class=\"target\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom}\"/>",
            TOP - 4.0
        );
        let _ = writeln!(
            svg,
            "<text class=\"target-label middle\" x=\"{x:.1}\" y=\"{:.1}\">target {label}/s</text>",
            TOP - 9.0
        );
    }
}
