//! Draws lines, labels and rectangles as SVG.

use std::fmt::{Display, Write as _};

/// Draws a line between two points.
pub(super) fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y1:.1}\" y2=\"{y2:.1}\"/>"
    );
}

/// Writes a text at a point. The text is not escaped, so it must not contain markup.
pub(super) fn label(svg: &mut String, class: &str, at: (f64, f64), text: impl Display) {
    let (x, y) = at;
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
    );
}

/// Fills a rectangle between two corners.
pub(super) fn rect(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x, y), (width, height)) = (from, (to.0 - from.0, to.1 - from.1));
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    );
}
