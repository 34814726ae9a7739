//! What is recorded of a request.

use std::time::Duration;

/// What a request did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read rows.
    Read,
    /// Changed rows, none of which is new; or none, because its condition did not hold.
    Write,
    /// Changed rows, at least one of which is new. Counted as a write, and shows where a table grows.
    Insert,
    /// Was refused because a target was exceeded. Nothing was read or written; its demand is counted, its latency is not.
    Throttled,
}

/// A finished request, or its part in this range.
#[derive(Clone, Copy, Debug)]
pub struct Request<'k> {
    /// The indivisible prefix of the keys it touched (`partita_model::TableSpace::partition`); of several partitions the
    /// first.
    pub partition: &'k [u8],
    /// How many leading bytes of `partition` name the table: keys that share them grow together.
    pub table_bytes: usize,
    /// What it did.
    pub access: Access,
    /// Rows it read, matching or not, or rows it changed.
    pub rows: u32,
    /// Bytes of the keys and stored rows it wrote; of a row it removed the key.
    pub bytes_in: u64,
    /// Bytes of the keys and stored rows it read, matching or not.
    pub bytes_out: u64,
    /// From the request's arrival, before it waits for admission, a range in transit or the locks of its rows, to its outcome.
    pub latency: Duration,
}

/// Units of load of a request without rows. Each row is one more unit: a page of 1,000 rows costs the server about as much as 60
/// point reads.
pub(super) const REQUEST_LOAD: u64 = 16;

impl Request<'_> {
    /// How much of the range's capacity it used, or would have used, in units.
    pub(super) fn load(&self) -> u64 {
        REQUEST_LOAD + u64::from(self.rows)
    }

    /// The leading bytes of its partition that name the table.
    pub(super) fn table(&self) -> &[u8] {
        self.partition
            .get(..self.table_bytes)
            .unwrap_or(self.partition)
    }
}
