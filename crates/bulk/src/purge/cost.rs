//! The cost of a purge, computed before it starts.

use partita_model::limits::BATCH_OPERATIONS_MAX;

/// Counts the rows that a purge would delete, in the table's order, and the requests that it would send.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PurgeCost {
    /// Rows to delete.
    pub rows: u64,
    /// Partitions that contain these rows.
    pub partitions: u64,
    /// Requests that delete the rows, without the requests of the scan.
    pub requests: u64,
    /// The partition of the last counted row.
    partition_key: Option<String>,
    /// Rows counted in that partition.
    partition_rows: u64,
}

impl PurgeCost {
    /// Counts a row.
    pub fn add(&mut self, partition_key: &str) {
        if self.partition_key.as_deref() != Some(partition_key) {
            self.partition_key = Some(partition_key.to_owned());
            self.partitions += 1;
            self.partition_rows = 0;
        }
        if self
            .partition_rows
            .is_multiple_of(BATCH_OPERATIONS_MAX as u64)
        {
            self.requests += 1;
        }
        self.partition_rows += 1;
        self.rows += 1;
    }
}
