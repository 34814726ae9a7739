//! The chart of the busiest partitions: a bar for each, and the target as a line.

use super::axis::{Axis, rate_label};
use super::frame::{Size, both};
use super::shapes::{label, line, rect};
use crate::html::{Text, shortened};
use crate::stress::{PartitionMetrics, Report, display};
use std::fmt::Write as _;

/// Maximum number of bars. The table below the chart lists more partitions.
const BARS_MAX: usize = 12;
/// Height of a bar. All sizes are in units of the picture: pixels on a wide screen.
const BAR: f64 = 18.0;
/// Distance between the tops of two bars.
const PITCH: f64 = 27.0;
/// Height of the space above the bars.
const TOP: f64 = 24.0;
/// Height of the space below the bars.
const BOTTOM: f64 = 26.0;
/// Width of the space to the right of the bars, for their numbers.
const RIGHT: f64 = 64.0;

/// The bars in both sizes, with the legend of their colours.
pub(super) fn bars(report: &Report) -> String {
    let mut entries = vec![
        ("served", "read or written"),
        ("unserved", "requested but not served"),
    ];
    if report.settings.targets.partition.is_some() {
        entries.push(("target", "target of a partition"));
    }
    both(&entries, |size| picture(report, size))
}

/// The geometry of the bars.
struct Bars {
    size: Size,
    axis: Axis,
    /// The x coordinate at which the bars begin.
    left: f64,
    /// The number of characters of a key that fit to the left of the bars.
    key_chars: usize,
    bottom: f64,
}

fn picture(report: &Report, size: Size) -> String {
    let partitions = report
        .partitions
        .get(..BARS_MAX)
        .unwrap_or(&report.partitions);
    let highest = partitions.iter().map(length).fold(0.0, f64::max);
    // With a target far above the load, all bars would be too short to see, so such a target is not drawn.
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

/// The length of a bar, in entities per second.
fn length(one: &PartitionMetrics) -> f64 {
    one.asked_per_second.max(one.served_per_second)
}

impl Bars {
    fn scale(&self, svg: &mut String) {
        for value in self.axis.marks(self.size.time_marks / 2) {
            let x = self.axis.at(value);
            line(svg, "grid", (x, TOP), (x, self.bottom));
            let at = (x, self.bottom + 17.0);
            label(svg, "label middle", at, rate_label(value));
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
            "<g><title>{}: {} requested per second, {} served</title>",
            Text(key),
            display::thousands(asked),
            display::thousands(served)
        );
        let at = (self.left - 10.0, y + 13.5);
        label(svg, "key end", at, Text(&name));
        rect(svg, "served", (zero, y), (end, y + BAR));
        rect(svg, "unserved", (end, y), (all, y + BAR));
        let rate = rate_label(length(one));
        label(
            svg,
            "label value",
            (all + 7.0, y + 13.0),
            format_args!("{rate}/s"),
        );
        svg.push_str("</g>\n");
    }

    fn target(&self, target: f64, svg: &mut String) {
        let (x, rate) = (self.axis.at(target), rate_label(target));
        line(svg, "target", (x, TOP - 4.0), (x, self.bottom));
        let text = format_args!("target {rate}/s");
        label(svg, "target-label middle", (x, TOP - 9.0), text);
    }
}
