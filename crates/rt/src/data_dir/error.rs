//! Why a data directory cannot be opened, built or read.

use std::io;
use std::path::{Path, PathBuf};

/// Why a data directory cannot be opened, built or read. Needs an operator: a retry does not help.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process uses the directory.
    #[error("{} is in use by another process{}", path.display(), holder.map_or_else(String::new, |pid| format!(" (process id {pid})")))]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The id of that process, if the lock file names it.
        holder: Option<u32>,
    },
    /// The directory was written by a version of Partita with another format.
    #[error("{} has format {found} in partita.toml, but this version of partita reads format {known}", path.display())]
    UnknownFormat {
        /// The directory.
        path: PathBuf,
        /// The format version that was found, as text.
        found: String,
        /// The format version that this binary supports.
        known: u32,
    },
    /// The directory holds data but no format version.
    #[error("{} holds data, but its format is unknown: partita.toml is missing", path.display())]
    NotStamped {
        /// The directory.
        path: PathBuf,
    },
    /// The file system failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The failed operation.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// The failure to `action` at `path`.
    #[must_use]
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
