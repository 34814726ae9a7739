//! Why a data directory cannot be opened.

use std::io;
use std::path::{Path, PathBuf};

/// Why a data directory cannot be opened. Each of them needs a person: retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has the directory.
    #[error("{} is in use by another process{}", path.display(), holder.map_or_else(String::new, |pid| format!(" (process id {pid})")))]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The process that says it holds the lock, when it could be read.
        holder: Option<u32>,
    },
    /// The directory was written by a version of Partita with another format.
    #[error("{} has format {found}, this version of partita reads format {known}", path.display())]
    UnknownFormat {
        /// The directory.
        path: PathBuf,
        /// The version it says it has, as text.
        found: String,
        /// The version this binary knows.
        known: u32,
    },
    /// The directory holds data but no `partita.toml` that says in which format.
    #[error("{} holds a store but no partita.toml that names its format", path.display())]
    NotStamped {
        /// The directory.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
