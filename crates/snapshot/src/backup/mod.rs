//! Backups: a snapshot as files of our own format, in any object store, that need nothing else to be read.
//!
//! - The rows are copied, not the files of the database: a backup is read in years, by versions that have another database below.
//! - Part after part, each with its own checksum; the list of parts comes last and makes the backup. A copy that was interrupted
//!   goes on behind the parts that are there and whole.
//! - `docs/format/backup.md` has the bytes.

mod manifest;
mod new_store;
mod part;
mod read;
mod verify;
mod write;

pub use new_store::{NewStore, unpack};
pub use read::{Backup, restore};
pub use verify::{Finding, Verified, verify};
pub use write::{Written, write};

use partita_engine::{ChangeError, OpenError, ReadError, WriteError};

use partita_cluster::MapError;

/// The object that lists all others; made last.
const MANIFEST: &str = "backup.json";
/// The checksums, as `sha256sum` writes and reads them.
const CHECKSUMS: &str = "SHA256SUMS";
/// The object that says whose backup is being made here; made first.
const BEGUN: &str = "begun.json";

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Rows copied, or found to be there already.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

/// Why a backup was not made or read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The place holds the backup of another snapshot.
    #[error("the place holds the backup of another snapshot, {0}")]
    Occupied(String),
    /// There is no backup, or one that was not finished.
    #[error("there is no finished backup here: {MANIFEST} is missing")]
    NotThere,
    /// A file of it is not what it was.
    #[error("the backup is damaged: {0}")]
    Damaged(String),
    /// The snapshot, or the store that is filled, cannot be read.
    #[error("rows cannot be read: {0}")]
    Read(#[from] ReadError),
    /// The store that is filled takes no rows.
    #[error("rows cannot be written: {0}")]
    Write(#[from] WriteError),
    /// The store that is filled cannot be opened.
    #[error("the new store cannot be opened: {0}")]
    Open(#[from] OpenError),
    /// The store that is filled takes no map.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The databases of the store that is filled.
    #[error(transparent)]
    EngineSet(#[from] ChangeError),
    /// The place does not answer.
    #[error("the place of the backup failed: {0}")]
    Store(#[from] object_store::Error),
    /// The directory to be filled.
    #[error("{0}")]
    Directory(String),
}

#[cfg(test)]
mod tests;
