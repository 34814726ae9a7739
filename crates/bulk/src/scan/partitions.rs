//! Counts the rows of each partition, in the table's order.

use super::frontier::Batch;
use super::source::Keyed;
use serde::{Deserialize, Serialize};

/// A partition with the number of its rows that a scan returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionCount {
    /// The PartitionKey.
    pub partition_key: String,
    /// Number of rows.
    pub rows: u64,
}

/// Counts the rows of each partition during a scan with [`super::Order::Table`]. Holds only the current partition, and
/// can be stored with the scan's resume token.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PartitionCounts {
    current: Option<PartitionCount>,
}

impl PartitionCounts {
    /// Counts the rows of a batch. Returns the partitions that are complete.
    pub fn add<R: Keyed>(&mut self, batch: &Batch<R>) -> Vec<PartitionCount> {
        let mut complete = Vec::new();
        for row in &batch.rows {
            match &mut self.current {
                Some(count) if count.partition_key == row.partition_key() => count.rows += 1,
                current => {
                    complete.extend(current.replace(PartitionCount {
                        partition_key: row.partition_key().to_owned(),
                        rows: 1,
                    }));
                }
            }
        }
        complete
    }

    /// The last partition, once the scan has ended.
    pub fn finish(self) -> Option<PartitionCount> {
        self.current
    }
}
