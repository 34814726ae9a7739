//! Records: the part of a group that belongs to one range.

use bytes::Bytes;

use crate::RangeId;
use crate::row::Rows;

/// The number of a record among the records of its range, from 1 without gaps. SlateDB calls it the id of a WAL file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalId(
    /// The number of the record.
    pub u64,
);

/// The identity of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The range whose rows it holds.
    pub range: RangeId,
    /// Its number in that range.
    pub wal_id: WalId,
    /// The sequence number of all its rows.
    pub seq: u64,
}

/// The size of a record before it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordSize {
    /// The number of rows.
    pub rows: usize,
    /// Bytes of their keys and values.
    pub payload_bytes: usize,
}

/// The sizes of the records of a group, before they are encoded.
pub type RecordSizes<'a> = &'a mut dyn Iterator<Item = RecordSize>;

/// A record read back. Its rows are decoded on demand.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its identity.
    pub header: RecordHeader,
    row_count: u32,
    body: Bytes,
}

impl Record {
    pub(crate) fn new(header: RecordHeader, row_count: u32, body: Bytes) -> Self {
        Self {
            header,
            row_count,
            body,
        }
    }

    /// Bytes of its encoded rows.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Its rows, in the order they were added. The rows share the record's memory.
    #[must_use]
    pub fn rows(&self) -> Rows {
        Rows::new(self.body.clone(), self.row_count)
    }
}
