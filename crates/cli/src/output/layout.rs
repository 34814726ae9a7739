//! Lays out cells in aligned columns, with two spaces between them.
//!
//! Table libraries lay out finished tables. Rows here are a stream: the first rows fix the widths for all that follow.
//! Libraries also wrap long values over several lines; here a row is always one line, so a column that does not fit is
//! truncated.

use crate::screen::{truncate, truncate_inside};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// The separator of two columns.
const GAP: &str = "  ";
/// The minimum width of a column that is narrowed.
const WIDTH_MIN: usize = 8;

/// The side of a column at which its texts are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// Keys: left, and truncated in their middle, because keys often differ at their ends.
    Key,
}

/// Widths and alignments of the columns of a table.
#[derive(Debug, Default)]
pub(super) struct Layout {
    columns: Vec<(usize, Align)>,
    /// Whether texts that are wider than their column are truncated, so that no line is wider than the terminal.
    is_bounded: bool,
    /// The number of columns that do not fit, the last ones.
    hidden: usize,
}

impl Layout {
    /// Columns as wide as their widest text, the widest of them narrowed until a line fits into `line_width`. The last
    /// columns are left out if they do not fit.
    pub(super) fn new(mut columns: Vec<(usize, Align)>, line_width: Option<usize>) -> Self {
        let all = |columns: &[(usize, Align)]| {
            let texts: usize = columns.iter().map(|(width, _)| width).sum();
            texts + GAP.len() * columns.len().saturating_sub(1)
        };
        let hidden = line_width.map_or(0, |line_width| {
            let narrow = columns.iter().map(|(width, _)| (*width).min(WIDTH_MIN));
            let ends = narrow.scan(0, |end, width| {
                *end += width + GAP.len();
                Some(*end)
            });
            let fitting = ends.take_while(|end| *end <= line_width + GAP.len());
            columns.len() - fitting.count().max(1).min(columns.len())
        });
        columns.truncate(columns.len() - hidden);
        while let Some(line_width) = line_width {
            let Some(excess) = all(&columns).checked_sub(line_width).filter(|it| *it > 0) else {
                break;
            };
            let widest = columns.iter_mut().max_by_key(|(width, _)| *width);
            let Some((width, _)) = widest.filter(|(width, _)| *width > WIDTH_MIN) else {
                break;
            };
            *width = width.saturating_sub(excess.div_ceil(4)).max(WIDTH_MIN);
        }
        Self {
            columns,
            is_bounded: line_width.is_some(),
            hidden,
        }
    }

    /// The number of columns that do not fit into a line.
    pub(super) const fn hidden(&self) -> usize {
        self.hidden
    }

    /// One line, without its end.
    pub(super) fn line(&self, texts: &[String]) -> String {
        let mut line = String::new();
        for (at, (text, &(width, align))) in texts.iter().zip(&self.columns).enumerate() {
            let text = match align {
                _ if !self.is_bounded => text.clone(),
                Align::Key => truncate_inside(text, width),
                Align::Left | Align::Right => truncate(text, width),
            };
            let pad = width.saturating_sub(text.width());
            let gap = if at > 0 { GAP } else { "" };
            let _ = match align {
                Align::Left | Align::Key => write!(line, "{gap}{text}{:pad$}", ""),
                Align::Right => write!(line, "{gap}{:pad$}{text}", ""),
            };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The lines of a complete table. A row may have fewer cells than the table has columns.
pub(crate) fn align(rows: &[Vec<String>], aligns: &[Align], line_width: usize) -> Vec<String> {
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or_default()
    };
    let columns = aligns.iter().enumerate();
    let columns = columns.map(|(column, align)| (widest(column), *align));
    let layout = Layout::new(columns.collect(), Some(line_width));
    rows.iter().map(|row| layout.line(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn the_widest_columns_are_narrowed() {
        let rows = [
            texts(&["Key", "Text", "N"]),
            texts(&[
                "p",
                "a text that is far too long for a narrow terminal",
                "1234567",
            ]),
        ];
        let aligns = [Align::Left, Align::Left, Align::Right];
        let wide = align(&rows, &aligns, 200);
        assert_eq!(
            wide[1],
            "p    a text that is far too long for a narrow terminal  1234567"
        );
        let narrow = align(&rows, &aligns, 32);
        assert!(narrow.iter().all(|line| line.width() <= 32), "{narrow:?}");
        assert!(narrow[1].contains('…') && narrow[1].ends_with("1234567"));
        assert!(narrow[0].ends_with("        N"), "{narrow:?}");
        let of_keys = align(&rows, &[Align::Left, Align::Key, Align::Right], 32);
        assert_eq!(of_keys[1], "p    a tex…row terminal  1234567");
        // Columns that do not fit are left out.
        assert_eq!(align(&rows, &aligns, 20)[1], "p    a text that is…");
        assert_eq!(align(&rows, &aligns, 3), ["Key", "p"]);
    }
}
