//! A table with aligned columns. Long values are truncated and control characters escaped.

use super::columns::{Cell, Columns, NamedCells, cells_for_people};
use super::layout::{Align, Layout};
use super::{OutputRow, Shape};
use crate::error::CommandError;
use crate::progress::message;
use crate::screen::truncate;
use crate::units::many;
use partita_client::EdmType;
use std::io::Write;
use unicode_width::UnicodeWidthStr as _;

/// Maximum width of a column of a table with several rows.
const WIDTH_MAX: usize = 40;
/// Maximum width of a value of a single object, where each value has its own line.
const WIDTH_MAX_ALONE: usize = 200;

/// Writes rows under columns that are fixed by the first rows; a single object as a line for each value.
pub(super) struct TableWriter {
    shape: Shape,
    columns: Columns,
    /// Whether the user named the columns.
    are_named: bool,
    /// Width of the terminal, in columns.
    width: Option<usize>,
    layout: Layout,
    /// Number of rows with properties that have no column.
    rows_with_hidden: u64,
}

impl TableWriter {
    pub(super) fn new(shape: Shape, names: Option<&[String]>, width: Option<usize>) -> Self {
        Self {
            shape,
            columns: Columns::new(names),
            are_named: names.is_some(),
            width,
            layout: Layout::default(),
            rows_with_hidden: 0,
        }
    }

    pub(super) fn row(
        &mut self,
        row: &OutputRow<'_>,
        to: &mut impl Write,
    ) -> Result<(), CommandError> {
        let cells = cells_for_people(row)?;
        if self.shape == Shape::Single {
            return write_upright(cells, row.is_entity(), to);
        }
        if self.columns.push(cells) {
            self.flush(to)?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, to: &mut impl Write) -> Result<(), CommandError> {
        let Some(waiting) = self.columns.take() else {
            return Ok(());
        };
        let rows = waiting.rows.into_iter();
        let (lines, hidden): (Vec<_>, Vec<_>) = rows.unzip();
        self.rows_with_hidden += hidden.iter().flatten().count() as u64;
        if waiting.are_first {
            self.layout = layout(waiting.columns, &lines, self.width);
            let header: Vec<_> = waiting.columns.iter().map(|name| cut(name)).collect();
            write_line(&self.layout.line(&header), to)?;
        }
        for cells in &lines {
            let texts: Vec<_> = cells.iter().map(|cell| text_of(cell.as_ref())).collect();
            write_line(&self.layout.line(&texts), to)?;
        }
        Ok(())
    }

    /// Reports what was not shown: columns that do not fit, and, unless the user named the columns, rows with properties
    /// that have none.
    pub(super) fn report_hidden(&self) {
        if self.rows_with_hidden > 0 && !self.are_named {
            let rows = many(self.rows_with_hidden, "row has", "rows have");
            message(&format!(
                "{rows} properties without a column; --output jsonl shows them"
            ));
        }
        let hidden = self.layout.hidden() as u64;
        if hidden > 0 {
            let columns = many(hidden, "column does", "columns do");
            message(&format!(
                "{columns} not fit into the terminal; --output jsonl shows them"
            ));
        }
    }
}

/// Columns as wide as their values, numbers aligned right.
fn layout(columns: &[String], lines: &[Vec<Option<Cell>>], line_width: Option<usize>) -> Layout {
    let mut widths: Vec<usize> = columns.iter().map(|name| cut(name).width()).collect();
    let mut aligns = vec![Align::Right; columns.len()];
    for cells in lines {
        for ((cell, width), align) in cells.iter().zip(&mut widths).zip(&mut aligns) {
            *width = (*width).max(text_of(cell.as_ref()).width());
            if cell.as_ref().is_some_and(|cell| !is_number(cell.edm)) {
                *align = Align::Left;
            }
        }
    }
    Layout::new(widths.into_iter().zip(aligns).collect(), line_width)
}

/// Writes one object, a line for each value. The values of an entity are shown with their types.
fn write_upright(
    cells: NamedCells,
    is_entity: bool,
    to: &mut impl Write,
) -> Result<(), CommandError> {
    let widths = cells.iter().map(|(name, _)| cut(name).width());
    let name_width = widths.max().unwrap_or_default();
    for (name, Cell { text, edm }) in cells {
        let name = cut(&name);
        let pad = name_width.saturating_sub(name.width());
        let edm = if is_entity {
            format!("{:<9}", edm.name().trim_start_matches("Edm."))
        } else {
            String::new()
        };
        let value = truncate(&text, WIDTH_MAX_ALONE);
        write_line(format!("{name}{:pad$}  {edm}{value}", "").trim_end(), to)?;
    }
    Ok(())
}

fn write_line(line: &str, to: &mut impl Write) -> Result<(), CommandError> {
    writeln!(to, "{line}").map_err(CommandError::Output)
}

fn is_number(edm: EdmType) -> bool {
    matches!(edm, EdmType::Int32 | EdmType::Int64 | EdmType::Double)
}

fn cut(text: &str) -> String {
    truncate(text, WIDTH_MAX)
}

fn text_of(cell: Option<&Cell>) -> String {
    cell.map_or_else(String::new, |cell| cut(&cell.text))
}
