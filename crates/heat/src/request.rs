//! The recorded data of a request.

use std::time::Duration;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read rows.
    Read,
    /// Changed existing rows, or no row because its condition failed.
    Write,
    /// Changed rows and created at least one. Counted as a write, and used to detect growth.
    Insert,
    /// Refused because it exceeded a target. Its demand is counted, its latency is not.
    Throttled,
}

/// A finished request, or its part in this range.
#[derive(Clone, Copy, Debug)]
pub struct Request<'k> {
    /// The indivisible prefix of the request's keys (`partita_model::TableSpace::partition`); the first one if the
    /// request has several partitions.
    pub partition: &'k [u8],
    /// The length of the table prefix in `partition`. Growth is detected per table.
    pub table_bytes: usize,
    /// The kind of request.
    pub access: Access,
    /// Rows read, matching or not, or rows changed.
    pub rows: u32,
    /// Bytes of written keys and stored rows; of a deleted row, the key.
    pub bytes_in: u64,
    /// Bytes of keys and stored rows read, matching or not.
    pub bytes_out: u64,
    /// From arrival to outcome. Includes waiting for admission, for a range in transit and for row locks.
    pub latency: Duration,
}

/// Units of load of a request without rows. Each row adds one unit: a page of 1,000 rows costs the server about as much
/// as 60 point reads.
pub(super) const REQUEST_LOAD: u64 = 16;

impl Request<'_> {
    /// The load of the request in units; for a refused request, the load it would have caused.
    pub(super) fn load(&self) -> u64 {
        REQUEST_LOAD + u64::from(self.rows)
    }

    /// The table prefix of the partition.
    pub(super) fn table(&self) -> &[u8] {
        table_prefix(self.partition, self.table_bytes)
    }
}

/// The first `table_bytes` bytes of a partition.
pub(super) fn table_prefix(partition: &[u8], table_bytes: usize) -> &[u8] {
    partition.get(..table_bytes).unwrap_or(partition)
}
