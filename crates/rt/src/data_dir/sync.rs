//! Creating directories whose names survive a power cut.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::Error;

/// Creates `directory` and its missing parents. Syncs every directory that gets a new name, before the next one is
/// created.
pub(super) fn create_dir(directory: &Path) -> Result<(), Error> {
    let failed = |source| Error::io("create the directory", directory, source);
    match fs::create_dir(directory) {
        Ok(()) => sync_parent(directory),
        Err(_) if directory.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = directory.parent().ok_or_else(|| failed(error))?;
            create_dir(parent)?;
            fs::create_dir(directory).map_err(failed)?;
            sync_parent(directory)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Makes the name of `path` durable in its directory.
pub(super) fn sync_parent(path: &Path) -> Result<(), Error> {
    match path.parent() {
        None => Ok(()),
        Some(parent) if parent.as_os_str().is_empty() => sync_dir(Path::new(".")),
        Some(parent) => sync_dir(parent),
    }
}

/// Makes the names in `directory` durable.
pub(super) fn sync_dir(directory: &Path) -> Result<(), Error> {
    #[cfg(test)]
    recorded::add(directory);
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| Error::io("sync the directory", directory, source))
}

/// The directories that this thread has synced, for tests.
#[cfg(test)]
pub(super) mod recorded {
    use std::cell::RefCell;
    use std::path::{Path, PathBuf};

    thread_local! {
        static SYNCED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn add(directory: &Path) {
        SYNCED.with_borrow_mut(|synced| synced.push(directory.to_owned()));
    }

    /// The directories synced since the last call.
    pub(in crate::data_dir) fn take() -> Vec<PathBuf> {
        SYNCED.take()
    }
}
