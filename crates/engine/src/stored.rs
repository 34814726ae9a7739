//! The databases, the WAL records and the trash of a store, by range, read without opening a database.

use std::sync::Arc;

use crate::{KeyRange, RangeId};

/// What a store holds of each range: databases, WAL records, and removed databases in the trash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredRanges {
    /// The databases, open or closed, whole or in part, in ascending order.
    pub databases: Vec<StoredDatabase>,
    /// Ranges with WAL records that were not replayed in this process.
    pub logged: Vec<RangeId>,
    /// Ranges whose removed database is still in the trash.
    pub trashed: Vec<RangeId>,
}

/// A database in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDatabase {
    /// Its range.
    pub range: RangeId,
    /// Its files.
    pub files: StoredFiles,
}

/// The files of a stored database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredFiles {
    /// There is no manifest: the database was never completed, or a part of it was lost.
    NoManifest,
    /// The newest manifest cannot be read, for this reason.
    Unreadable(Arc<str>),
    /// The keys of each file that the newest manifest lists, clipped to those that the database shows.
    Keys(Vec<KeyRange>),
}
