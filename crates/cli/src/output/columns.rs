//! Columns, derived from the first rows.

use super::OutputRow;
use crate::error::CommandError;
use partita_client::EdmType;
use partita_wire::table::push_value_text;

/// Rows from which columns and their widths are derived.
pub(super) const ROWS_SAMPLED: usize = 1000;

/// A value as text, and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) edm: EdmType,
}

/// Cells with their names.
pub(super) type NamedCells = Vec<(String, Cell)>;

/// The cells of a row.
pub(super) fn named_cells(row: &OutputRow<'_>) -> Result<NamedCells, CommandError> {
    let mut cells = NamedCells::new();
    row.each(|name, value| {
        let mut text = String::new();
        push_value_text(value, &mut text);
        let edm = value.edm_type();
        cells.push((name.to_owned(), Cell { text, edm }));
    })?;
    Ok(cells)
}

/// The same for people: measures have units.
pub(super) fn cells_for_people(row: &OutputRow<'_>) -> Result<NamedCells, CommandError> {
    let mut cells = named_cells(row)?;
    if let OutputRow::Measured(fields) = row {
        for ((_, cell), (_, field)) in cells.iter_mut().zip(*fields) {
            if let Some(text) = field.with_unit() {
                cell.text = text;
            }
        }
    }
    Ok(cells)
}

/// The names of all cells, in the order in which they first occur.
pub(super) fn columns_of(rows: &[NamedCells]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for row in rows {
        let mut at = 0;
        for (name, _) in row {
            // A new name goes behind the name that it follows in its row.
            match columns.iter().position(|known| known == name) {
                Some(known) => at = known + 1,
                None => {
                    columns.insert(at, name.clone());
                    at += 1;
                }
            }
        }
    }
    columns
}

/// The cells in the order of the columns, and the first name that has no column.
pub(super) fn in_columns(
    row: NamedCells,
    columns: &[String],
) -> (Vec<Option<Cell>>, Option<String>) {
    let mut cells = vec![None; columns.len()];
    let mut unknown = None;
    for (name, cell) in row {
        let at = columns.iter().position(|column| *column == name);
        match at.and_then(|at| cells.get_mut(at)) {
            Some(slot) => *slot = Some(cell),
            None => unknown = unknown.or(Some(name)),
        }
    }
    (cells, unknown)
}

/// The columns for properties that the user named: the keys are always there, and first.
pub(super) fn named_columns(names: &[String]) -> Vec<String> {
    let keys = ["PartitionKey", "RowKey"].map(str::to_owned);
    let others = names.iter().filter(|name| !keys.contains(name)).cloned();
    keys.iter().cloned().chain(others).collect()
}
