//! Backups: a snapshot as self-contained files in any object store.
//!
//! - A backup holds rows, not files of the database, so a later version of Partita with another database can read it.
//! - Rows are written in parts, each with a checksum; the manifest comes last and completes the backup. An interrupted
//!   backup resumes after its complete parts.
//! - `docs/format/backup.md` describes the bytes.

mod manifest;
mod new_store;
mod part;
mod read;
mod user_rows;
mod verify;
mod write;

pub use new_store::{NewStore, unpack};
pub use read::{Backup, restore, restore_into};
pub use verify::{Finding, Verified, verify};
pub use write::{Written, write};

use partita_engine::{ChangeError, OpenError, ReadError, WriteError};

use partita_cluster::MapError;

/// The object that lists all parts; written last.
const MANIFEST: &str = "backup.json";
/// The object with the checksums, in the format of `sha256sum`.
const CHECKSUMS: &str = "SHA256SUMS";
/// The object that identifies the snapshot of the backup; written first.
const BEGUN: &str = "begun.json";

/// The progress of a copy or of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Entities and messages copied, including those of an earlier attempt; in a verification, those of the intact parts.
    pub rows: u64,
    /// Bytes of the keys and values of all rows, also of the catalog; in a verification, bytes of all files read.
    pub bytes: u64,
}

/// Gets the progress now and then.
pub type Note<'a> = &'a (dyn Fn(Progress) + Sync);

/// Why writing or reading a backup failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The destination holds the backup of another snapshot.
    #[error(
        "the destination holds the backup of another snapshot, {0}; choose an empty destination"
    )]
    Occupied(String),
    /// The backup is missing or incomplete.
    #[error("no complete backup found: {MANIFEST} is missing")]
    NotThere,
    /// A file of the backup is damaged.
    #[error("the backup is damaged: {0}")]
    Damaged(String),
    /// The partition map of the new store cannot be stored.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The snapshot cannot be read.
    #[error("cannot read rows: {0}")]
    Read(#[from] ReadError),
    /// Rows cannot be written to the new store.
    #[error("cannot write rows: {0}")]
    Write(#[from] WriteError),
    /// The new store cannot be opened.
    #[error("cannot open the new store: {0}")]
    Open(#[from] OpenError),
    /// The databases of the new store cannot be created.
    #[error(transparent)]
    EngineSet(#[from] ChangeError),
    /// The object store of the backup returned an error.
    #[error("cannot read or write the backup: {0}")]
    Store(#[from] object_store::Error),
    /// The new data directory cannot be created, or a part of the backup cannot be encoded.
    #[error("{0}")]
    Directory(String),
}

#[cfg(test)]
mod tests;
