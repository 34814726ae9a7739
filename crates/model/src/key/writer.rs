//! Writes keys field by field.

use super::text::{END, push_text};
use super::{KeyKind, TableId};
use bytes::Bytes;

/// A key under construction.
#[derive(Debug)]
pub struct KeyWriter {
    bytes: Vec<u8>,
}

impl KeyWriter {
    /// Starts a key of a kind, with capacity for `capacity` bytes of fields.
    pub fn new(kind: KeyKind, capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity + 1);
        bytes.push(kind.byte());
        Self { bytes }
    }

    /// Appends a text and its terminator.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        push_text(&mut self.bytes, text);
        self.bytes.push(END);
        self
    }

    /// Appends the id of a table or a queue: eight bytes, big-endian.
    #[must_use]
    pub fn id(mut self, id: u64) -> Self {
        self.bytes.extend_from_slice(&id.to_be_bytes());
        self
    }

    /// Appends a table id.
    #[must_use]
    pub fn table_id(self, id: TableId) -> Self {
        self.id(id.0)
    }

    /// Appends the last text, without a terminator.
    #[must_use]
    pub fn last_text(mut self, text: &str) -> Self {
        push_text(&mut self.bytes, text);
        self
    }

    /// The key.
    pub fn finish(self) -> Bytes {
        Bytes::from(self.bytes)
    }
}
