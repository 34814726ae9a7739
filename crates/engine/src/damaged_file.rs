//! A file of the store that cannot be read.

use std::time::SystemTime;

use crate::RangeId;

/// A file of the store that a range needs and cannot read. Reads of its rows fail with [`crate::ReadError::Corrupt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedFile {
    /// The range that reads it.
    pub range: RangeId,
    /// Its path in the data directory.
    pub file: String,
    /// What is wrong with it.
    pub problem: String,
    /// When a read or a scrub first found the damage.
    pub since: SystemTime,
    /// Whether the range refuses writes: the damaged file prevents its compaction, and its level 0 is nearly full.
    pub blocks_writes: bool,
}
