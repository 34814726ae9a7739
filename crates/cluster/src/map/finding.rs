//! The faults that [`super::check`] finds in a store.

use super::contents::StoreContents;
use super::store::{serving_path, version_path};
use crate::display_key::DisplayKey;
use partita_engine::KeyRange;
use partita_range::{Bounds, RangeId};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// A fault of the stored map, or of the databases and serving records that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The object or folder of the store that is missing, damaged or unexpected.
    pub object: String,
    /// What is wrong with it, and what that means.
    pub fault: Fault,
}

/// What a finding means for a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The start continues, and repairs what it needs.
    Warning,
    /// Rows could be hidden or deleted: the start is refused, and changes nothing.
    Refused,
}

/// What is wrong with an object. The text continues a sentence that begins with the object's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no map in a store that holds data.
    #[error("has no version of the partition map, but {0}")]
    NoMap(Trace),
    /// A version newer than the newest stored one has existed, and is missing.
    #[error("is missing: {0}, and the newest version in the store is {1}")]
    VersionMissing(Trace, u64),
    /// The newest version cannot be read.
    #[error("is the newest version of the partition map and cannot be read: {0}")]
    NewestUnreadable(Arc<str>),
    /// An older version cannot be read.
    #[error("is an old version of the partition map and cannot be read: {0}")]
    OldUnreadable(Arc<str>),
    /// A version between two kept ones is missing.
    #[error("is missing: it is an old version of the partition map")]
    OldMissing,
    /// The `previous` checksum in the newest version does not match the version before it.
    #[error("does not follow the version before it: they belong to different copies of the store")]
    NewestForeign,
    /// The `previous` checksum in an older version does not match the version before it.
    #[error("does not follow the version before it: an old version of the map was replaced")]
    OldForeign,
    /// The serving record of a served range cannot be read.
    #[error("cannot be read: {0}")]
    ServingUnreadable(Arc<str>),
    /// A served range has no serving record.
    #[error("is missing")]
    ServingMissing,
    /// A served range has no serving record, and the start would delete the databases of an undecided change.
    #[error(
        "is missing, and the map holds an undecided change: without the record it is unknown whether version {0} completed the change"
    )]
    UndecidedUnknown(u64),
    /// A serving record and the newest version disagree.
    #[error("states {record}, but the newest version of the map states {map}")]
    ServingDiffers {
        /// What the serving record states.
        record: String,
        /// What the map states.
        map: String,
    },
    /// The map no longer lists the range of a serving record, but the record and the range's database are both in the
    /// store.
    #[error(
        "and its database belong to a range that the map no longer lists: files of an older copy were added"
    )]
    ServingForeign,
    /// The range of a serving record was replaced, and its database was deleted.
    #[error("belongs to a range that was replaced")]
    ServingOutdated,
    /// The database of a served range is missing.
    #[error("is missing: it is the database of a served range")]
    DatabaseMissing,
    /// The database of a served range has no manifest.
    #[error("has no manifest: it is the database of a served range")]
    ManifestMissing,
    /// The manifest of a served range's database cannot be read.
    #[error("has a manifest that cannot be read: {0}")]
    ManifestUnreadable(Arc<str>),
    /// A database holds keys outside its range.
    #[error("holds the keys {keys}, but the map states {map}")]
    KeysOutside {
        /// The keys of one of its files.
        keys: String,
        /// The keys of its range.
        map: String,
    },
}

/// An object whose existence proves that a version of the map existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// A serving record that names a version of the map.
    Served(RangeId, u64),
    /// The serving record of a range.
    Serving(RangeId),
    /// A database.
    Database(RangeId),
    /// Records in the WAL.
    Logged(RangeId),
    /// A removed database.
    Trashed(RangeId),
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served(range, version) => {
                write!(f, "{} names version {version}", serving_path(range.0))
            }
            Self::Serving(range) => {
                write!(
                    f,
                    "{} shows that range {range} was served",
                    serving_path(range.0)
                )
            }
            Self::Database(range) => write!(f, "the database {} exists", database(*range)),
            Self::Logged(range) => write!(f, "the WAL has rows of range {range}"),
            Self::Trashed(range) => write!(f, "the trash has a database of range {range}"),
        }
    }
}

impl StoreContents {
    /// The traces of all ranges. Serving records come first, because they name the version that existed.
    pub(super) fn traces(&self) -> impl Iterator<Item = (RangeId, Trace)> + '_ {
        let serving = self.map.serving.iter().map(|kept| match &kept.record {
            Ok(record) => (kept.range, Trace::Served(kept.range, record.version)),
            Err(_) => (kept.range, Trace::Serving(kept.range)),
        });
        let stored = &self.ranges;
        let databases = stored.databases.iter().map(|database| database.range);
        let databases = databases.map(|range| (range, Trace::Database(range)));
        let logged = stored.logged.iter();
        let logged = logged.map(|range| (*range, Trace::Logged(*range)));
        let trashed = stored.trashed.iter();
        let trashed = trashed.map(|range| (*range, Trace::Trashed(*range)));
        serving.chain(databases).chain(logged).chain(trashed)
    }
}

impl Finding {
    pub(super) fn of_map(fault: Fault) -> Self {
        let object = "map/".to_owned();
        Self { object, fault }
    }

    pub(super) fn of_version(version: u64, fault: Fault) -> Self {
        let object = version_path(version).to_string();
        Self { object, fault }
    }

    pub(super) fn of_serving(range: RangeId, fault: Fault) -> Self {
        let object = serving_path(range.0).to_string();
        Self { object, fault }
    }

    pub(super) fn of_database(range: RangeId, fault: Fault) -> Self {
        let object = database(range);
        Self { object, fault }
    }

    /// What the finding means for a start.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self.fault {
            Fault::OldUnreadable(_)
            | Fault::OldMissing
            | Fault::OldForeign
            | Fault::ServingUnreadable(_)
            | Fault::ServingMissing
            | Fault::ServingOutdated => Severity::Warning,
            Fault::NoMap(_)
            | Fault::VersionMissing(..)
            | Fault::NewestUnreadable(_)
            | Fault::NewestForeign
            | Fault::UndecidedUnknown(_)
            | Fault::ServingDiffers { .. }
            | Fault::ServingForeign
            | Fault::DatabaseMissing
            | Fault::ManifestMissing
            | Fault::ManifestUnreadable(_)
            | Fault::KeysOutside { .. } => Severity::Refused,
        }
    }

    /// What an operator can do about the finding.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self.fault {
            Fault::NoMap(_) => {
                "copy the folder back from the backup or directory that this data directory is a copy of"
            }
            Fault::VersionMissing(..) => {
                "copy this version and all later ones back from the backup or directory that this data directory is a copy of"
            }
            Fault::NewestUnreadable(_) => {
                "copy it back from a backup of the directory; without one, move it away, and the next start checks whether the version before it is current"
            }
            Fault::OldUnreadable(_) | Fault::OldMissing | Fault::OldForeign => {
                "old versions are kept for diagnosis only; nothing needs to be done"
            }
            Fault::ServingUnreadable(_) | Fault::ServingMissing => {
                "the map has the same content, so it is written again"
            }
            Fault::ServingOutdated => "it is deleted",
            Fault::UndecidedUnknown(_) => {
                "copy map/ and served/ back from the backup or directory that this data directory is a copy of; if the change was not completed, move the databases that it created out of the store"
            }
            Fault::NewestForeign
            | Fault::ServingDiffers { .. }
            | Fault::ServingForeign
            | Fault::KeysOutside { .. } => {
                "do not mix the files of several copies: restore one whole copy of the data directory"
            }
            Fault::DatabaseMissing | Fault::ManifestMissing | Fault::ManifestUnreadable(_) => {
                "copy the folder back from trash/ in the store, or from the backup or directory that this data directory is a copy of"
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}; {}", self.object, self.fault, self.remedy())
    }
}

/// The folder of a range's database.
fn database(range: RangeId) -> String {
    format!("range-{range}")
}

/// The keys of a range, for messages.
pub(super) fn bounds_text(bounds: &Bounds) -> String {
    let end = bounds.end.as_ref();
    let end = end.map_or_else(|| "the end".to_owned(), key_name);
    format!("keys from {} to before {end}", key_name(&bounds.start))
}

/// The keys of a file, for messages.
pub(super) fn keys_text(keys: &KeyRange) -> String {
    let name = |bound: &Bound<_>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key_name(key),
        Bound::Unbounded => "any".to_owned(),
    };
    format!("from {} to {}", name(&keys.start), name(&keys.end))
}

fn key_name(key: &bytes::Bytes) -> String {
    match key.is_empty() {
        true => "the beginning".to_owned(),
        false => format!("\"{}\"", DisplayKey(key)),
    }
}
