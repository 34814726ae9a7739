//! Rows and changes of rows, as bodies.

use bytes::Bytes;

use crate::forward::reader::{DecodeError, Reader};
use crate::forward::writer::Writer;

/// The most bytes of a key or a row.
const BYTES_MAX: usize = 64 << 20;

/// The row that a change expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedRow {
    /// Any, or none.
    Any,
    /// No row.
    Absent,
    /// This row.
    Row(Bytes),
}

/// A change of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The key.
    pub key: Bytes,
    /// The condition.
    pub expected: ExpectedRow,
    /// The new row; nothing to remove it.
    pub row: Option<Bytes>,
}

/// The body of a page.
#[must_use]
pub fn encode_rows<'a>(rows: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Bytes {
    let mut out = Writer::with_capacity(64 << 10);
    out.byte(super::VERSION);
    for (key, row) in rows {
        out.bytes(key);
        out.bytes(row);
    }
    out.finish().into()
}

/// Reads the body of a page. The rows are parts of the body.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_rows(body: &Bytes) -> Result<Vec<(Bytes, Bytes)>, DecodeError> {
    let mut input = Reader::new(body, super::VERSION)?;
    let mut rows = Vec::new();
    while !input.is_empty() {
        let key = input.bytes("key", BYTES_MAX)?;
        let row = input.bytes("row", BYTES_MAX)?;
        rows.push((body.slice_ref(key), body.slice_ref(row)));
    }
    Ok(rows)
}

/// The body of a write.
#[must_use]
pub fn encode_changes(changes: &[RowChange]) -> Bytes {
    let mut out = Writer::with_capacity(4 << 10);
    out.byte(super::VERSION);
    for change in changes {
        out.bytes(&change.key);
        match &change.expected {
            ExpectedRow::Any => out.byte(0),
            ExpectedRow::Absent => out.byte(1),
            ExpectedRow::Row(row) => {
                out.byte(2);
                out.bytes(row);
            }
        }
        out.byte(change.row.is_some().into());
        out.bytes(change.row.as_deref().unwrap_or_default());
    }
    out.finish().into()
}

/// Reads the body of a write. The rows are parts of the body.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_changes(body: &Bytes) -> Result<Vec<RowChange>, DecodeError> {
    let mut input = Reader::new(body, super::VERSION)?;
    let mut changes = Vec::new();
    while !input.is_empty() {
        let key = body.slice_ref(input.bytes("key", BYTES_MAX)?);
        let expected = match input.byte("condition")? {
            0 => ExpectedRow::Any,
            1 => ExpectedRow::Absent,
            2 => ExpectedRow::Row(body.slice_ref(input.bytes("expected row", BYTES_MAX)?)),
            other => return Err(DecodeError::Unknown("condition", other)),
        };
        let is_put = input.flag("kind of change")?;
        let row = body.slice_ref(input.bytes("row", BYTES_MAX)?);
        changes.push(RowChange {
            key,
            expected,
            row: is_put.then_some(row),
        });
    }
    Ok(changes)
}
