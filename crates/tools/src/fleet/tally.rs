//! Counts of a step, which add up to the counts of its job.

use super::RowHash;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The counts of a step or of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Rows found; of a `partitions` job, distinct PartitionKeys.
    pub rows: u64,
    /// The order-free hash of these rows: of their keys, and for jobs that read whole rows, of their properties.
    pub hash: RowHash,
    /// Effects: rows written or deleted, messages sent, commands run, files written.
    pub effects: u64,
    /// Rows that were not changed: existing rows of a copy, or rows that changed before a purge deleted them.
    pub kept: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        let Self {
            rows,
            hash,
            effects,
            kept,
        } = other;
        self.rows += rows;
        self.hash += hash;
        self.effects += effects;
        self.kept += kept;
    }
}
