//! The parts that all plots over time share: axes with labels, grid lines, the ramp, and the legend.

use super::axis::{Axis, time_label};
use super::shapes::{label, line, rect};
use crate::html::Text;
use crate::stress::Report;
use std::fmt::Write as _;

// Margins around the plot, in units of the picture: pixels on a wide screen.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 30.0;

/// The size of a picture: one for wide screens, one for phones, so that text stays legible on both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) class: &'static str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) time_marks: usize,
}

/// Both sizes. The page shows one of them, depending on the width of the screen.
const SIZES: [Size; 2] = [
    Size {
        class: "wide",
        width: 920.0,
        height: 270.0,
        time_marks: 10,
    },
    Size {
        class: "narrow",
        width: 390.0,
        height: 250.0,
        time_marks: 4,
    },
];

/// A legend, and below it a picture in both sizes.
pub(super) fn both(entries: &[(&str, &str)], picture: impl Fn(Size) -> String) -> String {
    legend(entries) + &SIZES.map(picture).concat()
}

impl Size {
    /// Bottom and top of the plot.
    pub(super) fn vertical(self) -> (f64, f64) {
        (self.height - BOTTOM, TOP)
    }

    /// The axis of time.
    pub(super) fn time(self, report: &Report) -> Axis {
        Axis::exact(report.seconds, LEFT, self.width - RIGHT)
    }
}

/// A plot, whose content `draw` draws. Screen readers read `title` and `what`.
pub(super) fn plot(
    report: &Report,
    size: Size,
    (title, what): (&str, &str),
    (values, labels): (&Axis, &dyn Fn(f64) -> String),
    draw: impl FnOnce(&mut String, &Axis),
) -> String {
    let Size {
        class,
        width,
        height,
        ..
    } = size;
    let time = size.time(report);
    let mut svg = format!(
        "<svg class=\"plot {class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}: {}\">\n",
        Text(title),
        Text(what)
    );
    ramp(report, size, &time, &mut svg);
    let right = width - RIGHT;
    for value in values.marks(5) {
        let y = values.at(value);
        line(&mut svg, "grid", (LEFT, y), (right, y));
        label(&mut svg, "label end", (LEFT - 8.0, y + 4.0), labels(value));
    }
    draw(&mut svg, &time);
    times(report, size, &time, &mut svg);
    svg.push_str("</svg>\n");
    svg
}

/// Draws the ramp as a labelled rectangle behind the plot.
fn ramp(report: &Report, size: Size, time: &Axis, svg: &mut String) {
    let (bottom, top) = size.vertical();
    let ramp = report.settings.schedule.ramp().as_secs_f64();
    let ramp = ramp.min(report.seconds);
    if ramp <= 0.0 {
        return;
    }
    let (from, to) = (time.at(0.0), time.at(ramp));
    rect(svg, "ramp", (from, top), (to, bottom));
    // A narrower ramp has no room for the label.
    if to - from > 46.0 {
        label(svg, "ramp-label", (from + 6.0, top + 13.0), "ramp");
    }
}

/// Draws the axis of time, on top of the plot.
fn times(report: &Report, size: Size, time: &Axis, svg: &mut String) {
    let (bottom, _) = size.vertical();
    line(svg, "axis", (LEFT, bottom), (size.width - RIGHT, bottom));
    for seconds in time.marks(size.time_marks) {
        let x = time.at(seconds);
        line(svg, "axis", (x, bottom), (x, bottom + 4.0));
        let text = time_label(seconds, report.seconds);
        label(svg, "label middle", (x, bottom + 19.0), text);
    }
}

/// The legend. Each entry is a style sheet class and a name.
fn legend(entries: &[(&str, &str)]) -> String {
    let mut list = "<ul class=\"legend\">".to_owned();
    for (class, name) in entries {
        let _ = write!(
            list,
            "<li><span class=\"swatch {class}\"></span>{}</li>",
            Text(name)
        );
    }
    list.push_str("</ul>\n");
    list
}
