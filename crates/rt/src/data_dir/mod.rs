//! The data directory, with its lock, its format version and its object store.
//!
//! Guarantees of [`DataDir::open`]:
//! - The directory exists under a durable name and is locked for this process, by its inode: removing files from it
//!   does not admit a second process. The operating system releases the lock when the process ends.
//! - This binary supports its format version. The version is written before any data, and is durable before `open`
//!   returns. Data with an unknown or missing version is refused.
//! - Partial files from a crash (`name#<number>`, made by the object store) are removed.
//!
//! Layout: `partita.toml` (the format version), `lock`, `store/` (the object store), `log/` (the WAL). Other components
//! may keep further files in the directory. `docs/format/store.md` describes the bytes.

mod building;
mod closed;
mod error;
mod lock;
mod open_files;
mod rename;
mod stamp;
mod sweep;
mod sync;
mod whole_pages;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

pub use building::Building;
pub use closed::{ClosedDataDir, StoredFile};
pub use error::Error;
pub use lock::Lock;
use open_files::OpenFiles;
pub use stamp::is_data_dir;
pub use sweep::sweep_shared;

use crate::store_layer::Layered;

/// The format version that this binary writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// An open, locked data directory. Dropping it releases the lock, so every user of the directory holds a reference.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    store: Arc<Layered<OpenFiles>>,
    _lock: Lock,
}

/// The folder of the WAL in the data directory at `path`.
#[must_use]
pub fn log_path(path: &Path) -> PathBuf {
    path.join("log")
}

impl DataDir {
    /// Opens the directory at `path`; creates it if it is missing. Blocking: some file operations, and a few syncs
    /// for a new directory.
    ///
    /// # Errors
    /// [`Error::Locked`] when another process uses it, [`Error::UnknownFormat`] and [`Error::NotStamped`] when this
    /// binary cannot read its data, else [`Error::Io`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        sync::create_dir(&path)?;
        let lock = Lock::take(&path)?;
        let (store_path, log_path) = (path.join("store"), log_path(&path));
        stamp::check_or_write(&path, store_path.exists() || log_path.exists())?;
        sync::create_dir(&store_path)?;
        sync::create_dir(&log_path)?;
        // Also for existing folders: the process that created them may have been killed before its sync.
        sync::sync_dir(&path)?;
        sweep::sweep(&store_path)?;
        let store = LocalFileSystem::new_with_prefix(&store_path)
            .map_err(|error| Error::io("open", &store_path, std::io::Error::other(error)))?;
        Ok(Self {
            path,
            // Without syncs a power cut can leave a file's name without its bytes, and then the database does not open.
            store: Arc::new(Layered(OpenFiles::new(store.with_fsync(true)))),
            _lock: lock,
        })
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the WAL.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        log_path(&self.path)
    }

    /// Removes the empty folders that remain after the objects under `prefix` of the store are deleted. Object stores
    /// have no folders, so the store does not remove them. Blocking.
    ///
    /// # Errors
    /// Errors of the file system, except for a missing folder.
    pub fn remove_empty_folders(&self, prefix: &str) -> std::io::Result<()> {
        remove_if_empty(&self.path.join("store").join(prefix))
    }

    /// Bytes that this process can still write to the disk of the directory. Blocking: some microseconds.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn free_bytes(&self) -> std::io::Result<u64> {
        let disk = rustix::fs::statvfs(&self.path)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// The object store in the directory. Every write is synced, file and directory, before it returns. Data files that
    /// were read stay open.
    #[must_use]
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.store) as Arc<dyn ObjectStore>
    }

    /// Sets how many data files stay open, at most 4,096, for a process that knows its limit of open files.
    pub fn keep_open(&self, files_max: usize) {
        self.store.0.set_files_max(files_max);
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
