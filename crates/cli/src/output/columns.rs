//! The columns of a table or CSV output, derived from the first rows.

use super::OutputRow;
use crate::error::CommandError;
use partita_client::EdmType;
use partita_wire::table::push_value_text;

/// Number of first rows from which columns and their widths are derived.
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

/// The cells of a row for a table: sizes and latencies have units, so the names of latencies have none.
pub(super) fn cells_for_people(row: &OutputRow<'_>) -> Result<NamedCells, CommandError> {
    let mut cells = named_cells(row)?;
    if let OutputRow::Record(fields) = row {
        for ((name, cell), (_, field)) in cells.iter_mut().zip(*fields) {
            if let Some(text) = field.with_unit() {
                cell.text = text;
                if let Some(length) = name.strip_suffix("_us").map(str::len) {
                    name.truncate(length);
                }
            }
        }
    }
    Ok(cells)
}

/// Rows that wait until the columns are known. The columns are derived from the first rows, unless the user named them.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Option<Vec<String>>,
    /// Whether rows have been written, so that the columns cannot change.
    are_fixed: bool,
    waiting: Vec<NamedCells>,
}

/// Rows in columns.
pub(super) struct Columned<'c> {
    pub(super) columns: &'c [String],
    /// Whether no rows were written before these.
    pub(super) are_first: bool,
    /// The cells of each row in the order of the columns, and the first property of the row that has no column.
    pub(super) rows: Vec<(Vec<Option<Cell>>, Option<String>)>,
}

impl Columns {
    /// Columns for the keys and then for the properties that the user named; `None` derives the columns from the first
    /// rows.
    pub(super) fn new(names: Option<&[String]>) -> Self {
        let with_keys = |names: &[String]| {
            let keys = ["PartitionKey", "RowKey"].map(str::to_owned);
            let others = names.iter().filter(|name| !keys.contains(name)).cloned();
            keys.iter().cloned().chain(others).collect()
        };
        Self {
            names: names.map(with_keys),
            ..Self::default()
        }
    }

    /// Adds a row; returns whether the waiting rows are to be written.
    pub(super) fn push(&mut self, row: NamedCells) -> bool {
        self.waiting.push(row);
        self.are_fixed || self.waiting.len() >= ROWS_SAMPLED
    }

    /// The waiting rows; `None` if no row waits.
    pub(super) fn take(&mut self) -> Option<Columned<'_>> {
        if self.waiting.is_empty() {
            return None;
        }
        let rows = std::mem::take(&mut self.waiting);
        let columns = &*self.names.get_or_insert_with(|| columns_of(&rows));
        Some(Columned {
            are_first: !std::mem::replace(&mut self.are_fixed, true),
            rows: rows
                .into_iter()
                .map(|row| in_columns(row, columns))
                .collect(),
            columns,
        })
    }
}

/// The names of all cells, in the order of the first row; names that it lacks are placed as in later rows.
fn columns_of(rows: &[NamedCells]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for row in rows {
        let mut at = 0;
        for (name, _) in row {
            // A new name is inserted after the name that precedes it in this row.
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
fn in_columns(row: NamedCells, columns: &[String]) -> (Vec<Option<Cell>>, Option<String>) {
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
