//! Columns, found by looking at the first rows.

use super::Shown;
use crate::error::Failure;
use partita_client::EdmType;
use partita_wire::table::push_value_text;

/// A value as text, and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) edm: EdmType,
}

/// A row by names.
pub(crate) type Named = Vec<(String, Cell)>;

/// The names of a row and its cells.
pub(crate) fn named(shown: &Shown<'_>) -> Result<Named, Failure> {
    let mut row = Named::new();
    shown.each(|name, value| {
        let mut text = String::new();
        push_value_text(value, &mut text);
        let edm = value.edm_type();
        row.push((name.to_owned(), Cell { text, edm }));
    })?;
    Ok(row)
}

/// The names of all columns of these rows, in the order in which they first appear.
pub(crate) fn columns(rows: &[Named]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for row in rows {
        let mut at = 0;
        for (name, _) in row {
            // A name that is new goes behind the one that it follows in its row.
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

/// The cells of a row in the order of the columns, and the first name that has none.
pub(crate) fn in_columns(row: Named, columns: &[String]) -> (Vec<Option<Cell>>, Option<String>) {
    let mut cells = vec![None; columns.len()];
    let mut stranger = None;
    for (name, cell) in row {
        let at = columns.iter().position(|column| *column == name);
        match at.and_then(|at| cells.get_mut(at)) {
            Some(slot) => *slot = Some(cell),
            None => stranger = stranger.or(Some(name)),
        }
    }
    (cells, stranger)
}

/// The columns that the user named: the keys come in any case, and first.
pub(crate) fn chosen(names: &[String]) -> Vec<String> {
    let keys = ["PartitionKey", "RowKey"].map(str::to_owned);
    let others = names.iter().filter(|name| !keys.contains(name)).cloned();
    keys.iter().cloned().chain(others).collect()
}
