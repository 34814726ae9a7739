//! What is stored about the ranges of a store, as a start or a check reads it.

use super::record::MapRecord;
use super::serving::ServingRecord;
use partita_engine::{StoredFiles, StoredRanges};
use partita_range::RangeId;
use std::sync::Arc;

/// The stored map, and the databases and WAL records that belong to it.
#[derive(Debug, Clone, Default)]
pub struct StoreContents {
    /// The partition map and the serving records.
    pub map: MapContents,
    /// The databases, the WAL and the trash.
    pub ranges: StoredRanges,
}

/// The stored partition map and serving records, readable or not.
#[derive(Debug, Clone, Default)]
pub struct MapContents {
    /// The kept versions of the map, in ascending order.
    pub versions: Vec<KeptVersion>,
    /// The serving records, in ascending order of their ranges.
    pub serving: Vec<KeptServing>,
}

/// A kept version of the map.
#[derive(Debug, Clone)]
pub struct KeptVersion {
    /// The version in its name.
    pub version: u64,
    /// The record, or why it cannot be read.
    pub record: Result<MapRecord, Arc<str>>,
}

/// A kept serving record.
#[derive(Debug, Clone)]
pub struct KeptServing {
    /// The range in its name.
    pub range: RangeId,
    /// The record, or why it cannot be read.
    pub record: Result<ServingRecord, Arc<str>>,
}

impl StoreContents {
    /// Whether a database exists, whole or in part.
    pub(super) fn has_database(&self, range: RangeId) -> bool {
        let mut databases = self.ranges.databases.iter();
        databases.any(|database| database.range == range)
    }

    /// Whether a database with a manifest exists. A folder without one may be only a file that a compaction wrote after
    /// the removal.
    pub(super) fn has_manifest(&self, range: RangeId) -> bool {
        let mut databases = self.ranges.databases.iter();
        databases.any(|it| it.range == range && it.files != StoredFiles::NoManifest)
    }
}
