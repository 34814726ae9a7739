//! Why a transfer stopped.

use crate::formats::FormatError;
use crate::scan::{InvalidToken, ScanError};
use partita_client::Outcome;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a transfer stopped. Transferred rows stay, and a resumed transfer continues after them.
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
        /// The client's error, with the outcome of the write.
        source: Box<partita_client::Error>,
    },
    /// A row to insert exists. Use another mode.
    #[error("the row with PartitionKey {partition_key:?} and RowKey {row_key:?} already exists")]
    Exists {
        /// Its PartitionKey.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
    },
    /// The table cannot be created.
    #[error("cannot create the table")]
    Create(#[source] Box<partita_client::Error>),
    /// A file cannot be written or read as rows.
    #[error("{}", .path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: FormatError,
    },
    /// A file or directory cannot be used.
    #[error("{}", .path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file has changed since it was written: its checksum, size or text differs.
    #[error("{} is damaged: {what}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The evidence.
        what: String,
    },
    /// Another release wrote the manifest or state file, with an unknown version.
    #[error("unsupported version {version} of {}", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// The target exists. Resume the transfer, or choose another target.
    #[error("{} already exists", .0.display())]
    AlreadyThere(PathBuf),
    /// The job to resume was started with other arguments or another file.
    #[error("{} belongs to another job", .0.display())]
    OtherJob(PathBuf),
    /// The export is not finished. Resume it first.
    #[error("{} belongs to an unfinished export; finish it first", .0.display())]
    Incomplete(PathBuf),
    /// The saved position of the scan is invalid.
    #[error("cannot resume the scan")]
    Resume(#[from] InvalidToken),
    /// The file name has no known extension.
    #[error("unknown format of {}: its name must end in .csv, .jsonl or .parquet", .0.display())]
    UnknownFormat(PathBuf),
    /// The observer stopped the transfer, which can be resumed.
    #[error("stopped")]
    Stopped,
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    ShuttingDown,
}

impl TransferError {
    /// Maps errors of file and directory operations, for `map_err`.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Maps errors of a file of rows, for `map_err`.
    pub(super) fn rows(path: &Path) -> impl FnOnce(FormatError) -> Self + '_ {
        |source| Self::Rows {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether this is a failed write that may have happened.
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
