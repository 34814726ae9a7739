//! Latency over time: p50, p99 and p99.9 on a logarithmic scale.

use super::axis::{Axis, latency_label};
use super::frame::{Size, both, plot};
use crate::stress::{Point, Report, display};
use std::fmt::Write as _;

/// A style sheet class, a name, and the function that gives the value of a point.
type Line = (&'static str, &'static str, fn(&Point) -> Option<u64>);

const LINES: [Line; 3] = [
    ("p999", "p99.9", |point| point.p999_us),
    ("p99", "p99", |point| point.p99_us),
    ("p50", "p50", |point| point.p50_us),
];

/// The plot in both sizes, with its legend.
pub(super) fn latency(report: &Report) -> String {
    let entries = LINES.map(|(class, name, _)| (class, name));
    both(&entries, |size| picture(report, size))
}

fn picture(report: &Report, size: Size) -> String {
    let all = || {
        report
            .series
            .iter()
            .flat_map(|point| LINES.iter().filter_map(|(.., of)| of(point)))
    };
    let (lowest, highest) = (all().min().unwrap_or(1_000), all().max().unwrap_or(1_000));
    let (bottom, top) = size.vertical();
    let axis = Axis::log(lowest as f64, highest as f64, bottom, top);
    let response = report.all.response;
    let what = format!(
        "p50 {}, p99 {}, p99.9 {} over the whole run",
        display::latency(response.p50_us),
        display::latency(response.p99_us),
        display::latency(response.p999_us)
    );
    plot(
        report,
        size,
        ("Latency over time", &what),
        (&axis, &latency_label),
        |svg, time| {
            for (class, _, of) in LINES {
                let path = line(&report.series, of, time, &axis);
                let _ = writeln!(svg, "<path class=\"line {class}\" d=\"{path}\"/>");
            }
        },
    )
}

/// A line through the middle of each window, with gaps where no operation ended. A single window between two gaps is
/// drawn as a short horizontal line.
fn line(points: &[Point], of: fn(&Point) -> Option<u64>, time: &Axis, axis: &Axis) -> String {
    let mut path = String::new();
    let mut is_drawing = false;
    for (at, point) in points.iter().enumerate() {
        let Some(us) = of(point) else {
            is_drawing = false;
            continue;
        };
        let y = axis.at(us as f64);
        let goes_on = points.get(at + 1).is_some_and(|next| of(next).is_some());
        if !is_drawing && !goes_on {
            let (from, to) = (
                time.at(point.at_seconds),
                time.at(point.at_seconds + point.seconds),
            );
            let _ = write!(path, "M{from:.1} {y:.1}H{to:.1}");
            continue;
        }
        let x = time.at(point.at_seconds + point.seconds / 2.0);
        let command = if is_drawing { 'L' } else { 'M' };
        let _ = write!(path, "{command}{x:.1} {y:.1}");
        is_drawing = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::super::super::example::report;
    use super::*;

    #[test]
    fn windows_without_operations_are_gaps() {
        let report = report();
        let (time, axis) = (
            Axis::exact(60.0, 0.0, 60.0),
            Axis::log(1.0, 1e7, 100.0, 0.0),
        );
        let path = line(&report.series, |point| point.p50_us, &time, &axis);
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 57, "{path}");
        let alone = line(&report.series[4..6], |point| point.p50_us, &time, &axis);
        assert!(
            alone.starts_with("M4.0 ") && alone.ends_with("H5.0"),
            "{alone}"
        );
    }
}
