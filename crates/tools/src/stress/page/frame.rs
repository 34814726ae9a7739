//! The frame of a plot over time: axes with labels, lines behind, the ramp, and the colours' names.

use super::axis::{Axis, time_label};
use super::text::Text;
use crate::stress::Report;
use std::fmt::Write as _;

/// Room around the plot, in the picture's own units, which are pixels on a screen that is wide enough.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 30.0;

/// A size to draw in: one for wide screens, one for phones, so that letters stay legible on both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) class: &'static str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) time_marks: usize,
}

/// Both sizes; the page shows the one that fits.
pub(super) const SIZES: [Size; 2] = [
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

impl Size {
    /// Where values from 0 up go, bottom to top.
    pub(super) fn vertical(self) -> (f64, f64) {
        (self.height - BOTTOM, TOP)
    }

    /// The axis of time.
    pub(super) fn time(self, report: &Report) -> Axis {
        Axis::exact(report.seconds, LEFT, self.width - RIGHT)
    }
}

/// A plot: `draw` draws into its frame. `title` and `what` are for those who do not see it.
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
        let (y, label) = (values.at(value), labels(value));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        );
        let _ = writeln!(
            svg,
            "<text class=\"label end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            LEFT - 8.0,
            y + 4.0
        );
    }
    draw(&mut svg, &time);
    times(report, size, &time, &mut svg);
    svg.push_str("</svg>\n");
    svg
}

/// The time in which the load grows, set off.
fn ramp(report: &Report, size: Size, time: &Axis, svg: &mut String) {
    let (bottom, top) = size.vertical();
    let ramp = report.settings.schedule.ramp().as_secs_f64();
    let ramp = ramp.min(report.seconds);
    if ramp <= 0.0 {
        return;
    }
    let (from, to) = (time.at(0.0), time.at(ramp));
    let (width, height) = (to - from, bottom - top);
    let _ = writeln!(
        svg,
        "<rect class=\"ramp\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>"
    );
    // Narrower ones have no room for the word.
    if width > 46.0 {
        let _ = writeln!(
            svg,
            "<text class=\"ramp-label\" x=\"{:.1}\" y=\"{:.1}\">ramp</text>",
            from + 6.0,
            top + 13.0
        );
    }
}

/// The axis of time, over what was drawn.
fn times(report: &Report, size: Size, time: &Axis, svg: &mut String) {
    let (bottom, _) = size.vertical();
    let right = size.width - RIGHT;
    let _ = writeln!(
        svg,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom:.1}\" y2=\"{bottom:.1}\"/>"
    );
    for seconds in time.marks(size.time_marks) {
        let (x, label) = (time.at(seconds), time_label(seconds, report.seconds));
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom:.1}\" y2=\"{:.1}\"/>",
            bottom + 4.0
        );
        let _ = writeln!(
            svg,
            "<text class=\"label middle\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>",
            bottom + 19.0
        );
    }
}

/// Names of the colours, each a class of the style sheet.
pub(super) fn legend(entries: &[(&str, &str)]) -> String {
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
