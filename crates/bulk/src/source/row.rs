//! Rows that borrow from their page.
//!
//! The keys of a page are copied into one text, because the answer may contain them in escaped form. A PartitionKey
//! that equals the previous one is not copied again. A [`TableRow`] is a reference to its page and an index, so
//! creating or cloning a row only increments a reference count.

use crate::scan::{Keyed, SourceError};
use bytes::Bytes;
use partita_client::{ConvertError, Entity, PageReader, RowReader};
use partita_wire::Failure;
use partita_wire::table::read_row;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A row of a table, of which only the keys are decoded. Cheap to clone; it keeps its whole page in memory.
#[derive(Clone)]
pub struct TableRow {
    page: Arc<Rows>,
    index: usize,
}

struct Rows {
    /// The keys of all rows, one after the other.
    keys: String,
    rows: Vec<Row>,
}

struct Row {
    source: Bytes,
    partition_key: Range<usize>,
    row_key: Range<usize>,
}

/// Reads the rows of a page; decodes their keys.
pub(super) fn read(page: &partita_client::Page) -> Result<Vec<TableRow>, SourceError> {
    let page = Arc::new(Rows::read(page.bytes())?);
    let rows = (0..page.rows.len()).map(|index| TableRow {
        page: Arc::clone(&page),
        index,
    });
    Ok(rows.collect())
}

impl Rows {
    fn read(body: &Bytes) -> Result<Self, Failure> {
        let mut rows: Vec<Row> = Vec::new();
        let mut keys = String::new();
        let mut reader = PageReader::new(body)?;
        while let Some(row) = reader.next_row()? {
            let source = body.slice_ref(row.source().as_bytes());
            let partition_key = row.partition_key()?.unwrap_or_default();
            let row_key = row.row_key()?.unwrap_or_default();
            let known = rows.last().map(|last| last.partition_key.clone());
            let known = known.filter(|known| keys.get(known.clone()) == Some(&*partition_key));
            let partition_key = known.unwrap_or_else(|| push(&partition_key, &mut keys));
            let row_key = push(&row_key, &mut keys);
            rows.push(Row {
                source,
                partition_key,
                row_key,
            });
        }
        Ok(Self { keys, rows })
    }
}

fn push(key: &str, keys: &mut String) -> Range<usize> {
    let begin = keys.len();
    keys.push_str(key);
    begin..keys.len()
}

impl TableRow {
    fn row(&self) -> &Row {
        &self.page.rows[self.index]
    }

    fn key(&self, range: &Range<usize>) -> &str {
        self.page.keys.get(range.clone()).unwrap_or_default()
    }

    /// The row as the server sent it: a JSON object with minimal metadata.
    pub fn json(&self) -> &[u8] {
        &self.row().source
    }

    /// Reads parts of the row without decoding the whole entity.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn read<T>(
        &self,
        read: impl FnOnce(RowReader<'_, '_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        read_row(self.json(), read)
    }

    /// The row as an entity.
    ///
    /// # Errors
    /// [`ConvertError`] if a value does not fit its type.
    pub fn entity(&self) -> Result<Entity, ConvertError> {
        Entity::read(self.json())
    }
}

impl Keyed for TableRow {
    fn partition_key(&self) -> &str {
        self.key(&self.row().partition_key)
    }

    fn row_key(&self) -> &str {
        self.key(&self.row().row_key)
    }
}

impl fmt::Debug for TableRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableRow")
            .field("partition_key", &self.partition_key())
            .field("row_key", &self.row_key())
            .finish_non_exhaustive()
    }
}
