//! The plot of operations over time, stacked by kind, with refused attempts on top.

use super::axis::{Axis, rate_label};
use super::frame::{Size, both, plot};
use crate::stress::{Kind, Point, Report};
use std::fmt::Write as _;

/// A layer of the stack: a style sheet class, a name, and the function that gives its value at a point.
struct Layer {
    class: String,
    name: &'static str,
    of: Box<dyn Fn(&Point) -> f64>,
}

/// The plot in both sizes, with its legend.
pub(super) fn throughput(report: &Report) -> String {
    let layers = layers(report);
    let at_a_rate = report.settings.schedule.rate_at(0.0).is_some();
    let mut entries: Vec<(&str, &str)> = layers
        .iter()
        .map(|layer| (layer.class.as_str(), layer.name))
        .collect();
    if at_a_rate {
        entries.push(("wanted", "target rate"));
    }
    both(&entries, |size| picture(report, &layers, size))
}

fn layers(report: &Report) -> Vec<Layer> {
    let has = |kind: &Kind| {
        let mut operations = report.operations.iter();
        operations.any(|one| one.operation == kind.name())
    };
    let kinds = Kind::ALL.into_iter().filter(has);
    let mut layers: Vec<Layer> = kinds
        .map(|kind| Layer {
            class: format!("kind-{kind}"),
            name: kind.name(),
            of: Box::new(move |point| point.done(kind)),
        })
        .collect();
    if report.tries.refused_sum() > 0 {
        layers.push(Layer {
            class: "refused".to_owned(),
            name: "refused attempts",
            of: Box::new(|point| point.refused_per_second),
        });
    }
    let has_failed = report
        .series
        .iter()
        .any(|point| point.failed_per_second > 0.0);
    if has_failed && report.tries.refused_sum() == 0 {
        layers.push(Layer {
            class: "failed".to_owned(),
            name: "failed",
            of: Box::new(|point| point.failed_per_second),
        });
    }
    layers
}

fn picture(report: &Report, layers: &[Layer], size: Size) -> String {
    let sum = |point: &Point| layers.iter().map(|layer| (layer.of)(point)).sum::<f64>();
    let highest = report.series.iter().map(sum).fold(0.0, f64::max);
    let wanted = report
        .settings
        .schedule
        .rate_at(report.seconds)
        .unwrap_or(0.0);
    let (bottom, top) = size.vertical();
    // A target rate far above the measured rate would flatten the plot.
    let highest = if wanted < highest * 3.0 {
        highest.max(wanted)
    } else {
        highest
    };
    let axis = Axis::even(highest * 1.04, bottom, top, 5);
    let what = format!(
        "{} operations a second on average, {} attempts refused in all",
        crate::stress::display::thousands(report.all.per_second),
        crate::stress::display::thousands(report.tries.refused_sum() as f64)
    );
    plot(
        report,
        size,
        ("Throughput over time", &what),
        (&axis, &rate_label),
        |svg, time| {
            let mut below = vec![0.0; report.series.len()];
            for layer in layers {
                let above: Vec<f64> = below
                    .iter()
                    .zip(&report.series)
                    .map(|(below, point)| below + (layer.of)(point))
                    .collect();
                let path = area(&report.series, &below, &above, time, &axis);
                let _ = writeln!(svg, "<path class=\"area {}\" d=\"{path}\"/>", layer.class);
                below = above;
            }
            if let Some(path) = wanted_line(report, time, &axis) {
                let _ = writeln!(svg, "<path class=\"line wanted\" d=\"{path}\"/>");
            }
        },
    )
}

/// The area between two heights of each point, drawn as steps, because a point is an average over its window.
fn area(points: &[Point], below: &[f64], above: &[f64], time: &Axis, axis: &Axis) -> String {
    let mut path = String::new();
    for (at, (point, height)) in points.iter().zip(above).enumerate() {
        let (x, y) = (time.at(point.at_seconds), axis.at(*height));
        let end = time.at(point.at_seconds + point.seconds);
        let command = if at == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{x:.1} {y:.1}H{end:.1}");
    }
    for (point, height) in points.iter().zip(below).rev() {
        let (x, y) = (time.at(point.at_seconds), axis.at(*height));
        let _ = write!(path, "V{y:.1}H{x:.1}");
    }
    path.push('Z');
    path
}

/// The line of the scheduled rate over time; `None` in a closed loop.
fn wanted_line(report: &Report, time: &Axis, axis: &Axis) -> Option<String> {
    report.settings.schedule.rate_at(0.0)?;
    let mut path = String::new();
    for step in 0..=200 {
        let seconds = report.seconds * f64::from(step) / 200.0;
        let rate = report.settings.schedule.rate_at(seconds)?;
        let command = if step == 0 { 'M' } else { 'L' };
        let _ = write!(
            path,
            "{command}{:.1} {:.1}",
            time.at(seconds),
            axis.at(rate)
        );
    }
    Some(path)
}
