//! The data directory: one process, one known format, one object store.
//!
//! What [`DataDir::open`] promises:
//! - The directory exists and is locked for this process. The lock goes with the process, however it ends.
//! - Its format version is one this binary knows. A directory is stamped before anything else is put into it, and the stamp
//!   is durable before `open` returns; an unknown or missing stamp over existing data is refused, never guessed.
//! - Left-overs of writes that a crash cut short (`name#<number>`, made by the object store) are gone.
//!
//! Layout: `partita.toml` (the stamp), `lock`, `store/` (the object store), `log/` (the engine's log). Other parts may keep
//! files of their own beside these. `docs/format/store.md` describes it byte by byte.

mod building;
mod error;
mod lock;
mod stamp;
mod sweep;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

pub use building::Building;
pub use error::Error;
use lock::Lock;

/// The version of the directory's layout that this binary writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// An open, locked data directory. Dropping it releases the lock, so it lives as long as anything that uses the directory.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    store: Arc<dyn ObjectStore>,
    _lock: Lock,
}

impl DataDir {
    /// Opens the directory at `path`, making it if need be. Blocking: some file operations and two syncs when it is new.
    ///
    /// # Errors
    /// [`Error::Locked`] when another process has it, [`Error::UnknownFormat`] and [`Error::NotStamped`] when its data is not
    /// ours to read, [`Error::Io`] for the rest.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        fs::create_dir_all(&path)
            .map_err(|source| Error::io("make the directory", &path, source))?;
        let lock = Lock::take(&path)?;
        let (store_path, log_path) = (path.join("store"), path.join("log"));
        stamp::check_or_write(&path, store_path.exists() || log_path.exists())?;
        for made in [&store_path, &log_path] {
            fs::create_dir_all(made)
                .map_err(|source| Error::io("make the directory", made, source))?;
        }
        stamp::sync_dir(&path)?;
        sweep::sweep(&store_path)?;
        let store = LocalFileSystem::new_with_prefix(&store_path)
            .map_err(|source| {
                Error::io(
                    "open the object store",
                    &store_path,
                    std::io::Error::other(source),
                )
            })?
            // Without it a power cut can leave an object whose name is there and whose bytes are not, and a database that
            // does not open.
            .with_fsync(true);
        Ok(Self {
            path,
            store: Arc::new(store),
            _lock: lock,
        })
    }

    /// Where the directory is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the engine's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Removes the folders that are left of a prefix of the store once its objects are gone: an object store has no folders, a
    /// directory does. Blocking. Folders that still hold something stay.
    ///
    /// # Errors
    /// What the file system says, but not that there is no such folder.
    pub fn remove_empty_folders(&self, prefix: &str) -> std::io::Result<()> {
        remove_if_empty(&self.path.join("store").join(prefix))
    }

    /// The object store in the directory. Every write is synced, file and directory, before it returns.
    #[must_use]
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.store)
    }
}

fn remove_if_empty(folder: &Path) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_if_empty(&entry.path())?;
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
