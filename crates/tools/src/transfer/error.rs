//! Why a transfer stopped.

use crate::formats::{Format, FormatError, InputFormat};
use crate::scan::{InvalidToken, ScanError};
use partita_bulk::WriteError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a transfer stopped. Rows that were transferred before are kept, and a resumed transfer continues after them.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The table cannot be read. Resuming may succeed.
    #[error("cannot read the source table")]
    Read(#[from] ScanError),
    /// The table cannot be written. Resuming may succeed, unless the service refuses the row, or it already exists.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The table cannot be created.
    #[error("cannot create the target table")]
    Create(#[source] Box<partita_client::Error>),
    /// The table to write does not exist.
    #[error("the target table {0} does not exist")]
    NoTarget(String),
    /// A dry run cannot look at the table that it would write.
    #[error("cannot read the target table")]
    Target(#[source] Box<partita_client::Error>),
    /// Rows cannot be written to a file, or read from it.
    #[error("{}{}", .path.display(), .source.place())]
    Rows {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: FormatError,
    },
    /// A file or directory cannot be used.
    #[error("{}", .path.display())]
    Io {
        /// The path of the file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file or directory cannot be created, because its directory does not exist.
    #[error("cannot write {}: directory {} not found", .path.display(), .parent.display())]
    NoDirectory {
        /// The path of the file or directory.
        path: PathBuf,
        /// The directory that does not exist.
        parent: PathBuf,
    },
    /// A file is damaged or has changed since it was written, or an export has no manifest.
    #[error("cannot use {}: {what}", .path.display())]
    Damaged {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The manifest or progress file has an unknown version: another release wrote it.
    #[error("{} has the format version {version}, which this release cannot read", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        version: u64,
    },
    /// The target of an export, or the progress file of an import or copy, exists. Resume the transfer, or choose
    /// another path.
    #[error("{} already exists", .0.display())]
    AlreadyThere(PathBuf),
    /// The job to resume was started with other arguments.
    #[error("cannot resume from {}: it belongs to a run with other arguments", .0.display())]
    OtherJob(PathBuf),
    /// The file to import has changed since the job to resume was started.
    #[error("cannot resume from {}: the imported file has changed", .0.display())]
    InputChanged(PathBuf),
    /// The export to import is not finished. Resume the export first.
    #[error("{} is an unfinished export; resume the export first", .0.display())]
    Incomplete(PathBuf),
    /// The saved position of the scan is invalid.
    #[error("cannot resume from the saved position of the scan")]
    Resume(#[from] InvalidToken),
    /// The file name has no known extension.
    #[error("unknown format of {}: the file name must end in one of {known}", .path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The known extensions.
        known: String,
    },
    /// The observer stopped the transfer, which can be resumed.
    #[error("stopped")]
    Stopped,
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    ShuttingDown,
}

impl TransferError {
    /// The error of a file to write whose name has no known extension.
    pub fn unknown_format(path: &Path) -> Self {
        Self::unknown(path, &Format::ALL.map(Format::name))
    }

    /// The error of a file to read whose name has no known extension.
    pub fn unknown_input_format(path: &Path) -> Self {
        Self::unknown(path, &InputFormat::ALL.map(InputFormat::name))
    }

    fn unknown(path: &Path, names: &[&str]) -> Self {
        let known: Vec<String> = names.iter().map(|name| format!(".{name}")).collect();
        Self::UnknownFormat {
            path: path.to_owned(),
            known: known.join(", "),
        }
    }

    /// For `map_err`: converts an I/O error of a file or directory.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// For `map_err`: converts a format error of a file of rows.
    pub(crate) fn rows(path: &Path) -> impl FnOnce(FormatError) -> Self + '_ {
        |source| Self::Rows {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether this is the failure of a write that the server may have executed.
    pub(super) fn may_have_happened(&self) -> bool {
        matches!(self, Self::Write(error) if error.may_have_happened())
    }

    /// Whether a row to insert already exists.
    pub fn is_existing_row(&self) -> bool {
        matches!(self, Self::Write(WriteError::Exists { .. }))
    }

    pub(crate) fn damaged(path: &Path, what: impl ToString) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            what: what.to_string(),
        }
    }
}
