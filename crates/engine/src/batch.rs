//! Writes that are committed together.

use bytes::Bytes;

/// A new value for one key, or its removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The key: 1 to 65,535 bytes.
    pub key: Bytes,
    /// The new value; `None` removes the key. Removing an absent key is not an error.
    pub value: Option<Bytes>,
}

impl Write {
    /// Bytes that the write takes in the pipeline: key, value and [`Batch::OVERHEAD_BYTES`].
    pub fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Bytes::len) + Batch::OVERHEAD_BYTES
    }
}

/// Writes that take effect together or not at all. No reader sees a part of a batch.
///
/// A batch names each key at most once. The engine keeps its bytes without a copy until a flush writes them to files,
/// so a value should not be a small slice of a large buffer, which would stay in memory as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    writes: Vec<Write>,
    bytes: usize,
}

impl Batch {
    /// Bytes of a row in flight beyond its key and value: the framing of the WAL record and of the queue.
    pub const OVERHEAD_BYTES: usize = 64;

    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch with room for `count` writes.
    pub fn with_capacity(count: usize) -> Self {
        Self {
            writes: Vec::with_capacity(count),
            bytes: 0,
        }
    }

    /// Adds a write of `value` to `key`.
    pub fn put(&mut self, key: Bytes, value: Bytes) {
        self.push(Write {
            key,
            value: Some(value),
        });
    }

    /// Adds a removal of `key`.
    pub fn delete(&mut self, key: Bytes) {
        self.push(Write { key, value: None });
    }

    /// Adds a write, for example one of another batch.
    pub fn push(&mut self, write: Write) {
        debug_assert!(!write.key.is_empty() && write.key.len() <= usize::from(u16::MAX));
        self.bytes += write.bytes();
        self.writes.push(write);
    }

    /// Bytes that the batch takes in the pipeline: keys, values and [`Batch::OVERHEAD_BYTES`] a row. Pass this to
    /// [`crate::Engine::reserve`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The writes, in the order they were added.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The writes themselves.
    pub fn into_writes(self) -> Vec<Write> {
        self.writes
    }

    /// Whether the batch has no writes.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The number of writes in the batch.
    pub fn len(&self) -> usize {
        self.writes.len()
    }
}
