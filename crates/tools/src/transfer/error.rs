//! Why a transfer stopped.

use crate::formats::FormatError;
use crate::scan::{InvalidToken, ScanError};
use partita_client::Outcome;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a transfer stopped. What was done until then stays, and is where it goes on if it is resumed.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The table cannot be read. Resuming may succeed.
    #[error("cannot read the table")]
    Read(#[from] ScanError),
    /// The table cannot be written. Resuming may succeed, unless the service refuses the row.
    #[error("cannot write the row with PartitionKey {partition_key:?} and RowKey {row_key:?}")]
    Write {
        /// PartitionKey of the row, or of the first of a batch.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
        /// What the client says; whether the write may have happened is in it.
        #[source]
        source: Box<partita_client::Error>,
    },
    /// A row to be inserted is there already. Another mode is the cure.
    #[error("the row with PartitionKey {partition_key:?} and RowKey {row_key:?} already exists")]
    Exists {
        /// Its PartitionKey.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
    },
    /// The table cannot be made.
    #[error("cannot create the table")]
    Create(#[source] Box<partita_client::Error>),
    /// A file cannot be written or read as rows.
    #[error("{}", .path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: FormatError,
    },
    /// A file or directory cannot be used.
    #[error("{}", .path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is not what it was when it was written: its checksum, its size, or its text.
    #[error("{} is damaged: {what}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What shows it.
        what: String,
    },
    /// A manifest or state file of a version that is not known here: another release wrote it.
    #[error("unsupported version {version} of {}", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// Something is there where the transfer would write. Resuming it, or another place, is the cure.
    #[error("{} already exists", .0.display())]
    AlreadyThere(PathBuf),
    /// What is to be resumed was begun with other arguments, or on another file.
    #[error("{} belongs to another job", .0.display())]
    OtherJob(PathBuf),
    /// The export has not come to its end. Resuming it is the cure.
    #[error("{} belongs to an unfinished export; finish it first", .0.display())]
    Incomplete(PathBuf),
    /// The place where the scan stood cannot be used.
    #[error("cannot resume the scan")]
    Resume(#[from] InvalidToken),
    /// The name says no format.
    #[error("unknown format of {}: its name must end in .csv, .jsonl or .parquet", .0.display())]
    UnknownFormat(PathBuf),
    /// The observer wanted it to stop. What is done is kept, and it can be resumed.
    #[error("stopped")]
    Stopped,
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    ShuttingDown,
}

impl TransferError {
    /// For `map_err` of what is done to a file or directory.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// For `map_err` of what is done to a file of rows.
    pub(super) fn rows(path: &Path) -> impl FnOnce(FormatError) -> Self + '_ {
        |source| Self::Rows {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether it is a write that failed, and rows may be written nevertheless.
    pub(super) fn may_have_happened(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.outcome() == Outcome::MayHaveHappened)
    }

    pub(super) fn damaged(path: &Path, what: impl ToString) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            what: what.to_string(),
        }
    }
}
