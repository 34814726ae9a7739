//! A table to look at. Values are cut to fit, and control characters are escaped: data must not move the cursor.

use super::columns::{Cell, Named, chosen, columns, in_columns, named};
use super::{Shape, Shown};
use crate::error::Failure;
use crate::progress::say;
use partita_client::EdmType;
use std::fmt::Write as _;
use std::io::Write;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Rows that are looked at to find columns and widths.
pub(crate) const ROWS_SEEN: usize = 1000;
/// The widest that a value is shown, in columns of the terminal.
const WIDTH_MAX: usize = 40;
/// The same for a value that stands alone on its line.
const WIDTH_MAX_ALONE: usize = 200;

/// Writes rows under columns that are settled with the first rows; a single row stands upright.
pub(crate) struct Grid {
    shape: Shape,
    layout: Layout,
    waiting: Vec<Named>,
    begun: bool,
    /// Rows with properties that have no column.
    strangers: u64,
}

#[derive(Default)]
struct Layout {
    columns: Vec<String>,
    named_by_user: bool,
    widths: Vec<usize>,
    /// Whether the columns hold numbers, which end at the same place.
    numbers: Vec<bool>,
}

impl Grid {
    pub(crate) fn new(shape: Shape, names: Option<&[String]>) -> Self {
        Self {
            shape,
            layout: Layout {
                columns: names.map(chosen).unwrap_or_default(),
                named_by_user: names.is_some(),
                ..Layout::default()
            },
            waiting: Vec::new(),
            begun: false,
            strangers: 0,
        }
    }

    pub(crate) fn row(&mut self, shown: &Shown<'_>, to: &mut impl Write) -> Result<(), Failure> {
        let row = named(shown)?;
        if self.shape == Shape::Single {
            return upright(row, shown.is_entity(), to);
        }
        self.waiting.push(row);
        if self.begun || self.waiting.len() >= ROWS_SEEN {
            self.flush(to)?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self, to: &mut impl Write) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.waiting);
        let begins = !self.begun;
        if begins && !self.layout.named_by_user {
            self.layout.columns = columns(&rows);
        }
        let mut lines = Vec::with_capacity(rows.len());
        for row in rows {
            let (cells, stranger) = in_columns(row, &self.layout.columns);
            self.strangers += u64::from(stranger.is_some());
            lines.push(cells);
        }
        if begins {
            self.layout.settle(&lines);
            self.begun = true;
            let header: Vec<_> = self
                .layout
                .columns
                .iter()
                .map(|name| cut(name, WIDTH_MAX))
                .collect();
            self.layout.line(&header, to)?;
        }
        for cells in &lines {
            let texts: Vec<_> = cells.iter().map(|cell| text_of(cell.as_ref())).collect();
            self.layout.line(&texts, to)?;
        }
        Ok(())
    }

    /// Says what could not be shown.
    pub(crate) fn tell_hidden(&self) {
        if self.strangers > 0 && !self.layout.named_by_user {
            let rows = crate::progress::many(self.strangers, "row has", "rows have");
            say(&format!(
                "{rows} properties that have no column; --output jsonl shows all"
            ));
        }
    }
}

impl Layout {
    fn settle(&mut self, lines: &[Vec<Option<Cell>>]) {
        self.widths = self
            .columns
            .iter()
            .map(|name| cut(name, WIDTH_MAX).width())
            .collect();
        self.numbers = vec![true; self.columns.len()];
        for cells in lines {
            let columns = cells.iter().zip(&mut self.widths).zip(&mut self.numbers);
            for ((cell, width), numbers) in columns {
                *width = (*width).max(text_of(cell.as_ref()).width());
                *numbers &= cell.as_ref().is_none_or(|cell| is_number(cell.edm));
            }
        }
    }

    fn line(&self, texts: &[String], to: &mut impl Write) -> Result<(), Failure> {
        let mut line = String::new();
        for ((text, &width), &number) in texts.iter().zip(&self.widths).zip(&self.numbers) {
            let pad = width.saturating_sub(text.width());
            if !line.is_empty() {
                line.push_str("  ");
            }
            if number {
                let _ = write!(line, "{:pad$}{text}", "");
            } else {
                let _ = write!(line, "{text}{:pad$}", "");
            }
        }
        writeln!(to, "{}", line.trim_end()).map_err(Failure::Output)
    }
}

/// One row, a line for each value.
fn upright(row: Named, is_entity: bool, to: &mut impl Write) -> Result<(), Failure> {
    let widths = row.iter().map(|(name, _)| cut(name, WIDTH_MAX).width());
    let name_width = widths.max().unwrap_or_default();
    for (name, Cell { text, edm }) in row {
        let name = cut(&name, WIDTH_MAX);
        let pad = name_width.saturating_sub(name.width());
        let of_type = if is_entity {
            format!("{:<9}", edm.name().trim_start_matches("Edm."))
        } else {
            String::new()
        };
        let line = format!(
            "{name}{:pad$}  {of_type}{}",
            "",
            cut(&text, WIDTH_MAX_ALONE)
        );
        writeln!(to, "{}", line.trim_end()).map_err(Failure::Output)?;
    }
    Ok(())
}

fn is_number(edm: EdmType) -> bool {
    matches!(edm, EdmType::Int32 | EdmType::Int64 | EdmType::Double)
}

fn text_of(cell: Option<&Cell>) -> String {
    cell.map_or_else(String::new, |cell| cut(&cell.text, WIDTH_MAX))
}

/// As [`cut`], but what is left out is before the end: keys often begin alike. A third of the columns is for the beginning.
pub(crate) fn cut_inside(text: &str, width_max: usize) -> String {
    let whole = cut(text, usize::MAX);
    if whole.width() <= width_max {
        return whole;
    }
    let (mut at, mut width) = (whole.len(), 0);
    for (before, c) in whole.char_indices().rev() {
        width += c.width().unwrap_or_default();
        if width > width_max * 2 / 3 {
            break;
        }
        at = before;
    }
    let end = whole.get(at..).unwrap_or_default();
    cut(&whole, width_max.saturating_sub(end.width())) + end
}

/// The text on one line of so many columns at most, an ellipsis in the place of what is left out.
pub(crate) fn cut(text: &str, width_max: usize) -> String {
    let mut out = String::new();
    let mut width = 0;
    // Where the text can end if the whole does not fit.
    let mut end = 0;
    for c in text.chars() {
        let shown = match c.width() {
            Some(1..) => c.to_string(),
            // Combining marks take no room; all else without width would be seen as nothing, or move the cursor.
            Some(0) if !out.is_empty() && !is_invisible(c) => c.to_string(),
            _ => c.escape_default().to_string(),
        };
        width += shown.width();
        if width > width_max {
            out.truncate(end);
            out.push('…');
            return out;
        }
        out.push_str(&shown);
        if width < width_max {
            end = out.len();
        }
    }
    out
}

/// Formatting characters: of zero width and no sign of their own, some of which change the direction of what follows.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_and_escaped() {
        for (text, expected) in [
            ("abcd", "abcd"),
            ("abcde", "abc…"),
            ("日本", "日本"),
            ("日本語", "日…"),
            ("a\nb", "a\\nb"),
            ("\u{1b}[2J", "…"),
            ("e\u{301}", "e\u{301}"),
            ("a\u{202E}b", "a…"),
        ] {
            assert_eq!(cut(text, 4), expected, "{text:?}");
        }
        assert_eq!(cut("\u{1b}[2J", 40), "\\u{1b}[2J");
        for (text, expected) in [
            ("readings 'a1'", "readings 'a1'"),
            ("readings 'sensor-061'", "read…ensor-061'"),
            ("日本語日本語日本語", "日本…本語日本語"),
            (
                "a\u{301}aaaaaaaaaaaaaaaaa\u{301}",
                "a\u{301}aaa…aaaaaaaaaa\u{301}",
            ),
        ] {
            assert_eq!(cut_inside(text, 15), expected, "{text:?}");
        }
        assert_eq!(cut_inside("abc", 1), "…");
    }
}
