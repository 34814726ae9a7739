//! A data directory that no server uses, opened without changing it, for `partita check`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

use super::lock::Lock;
use super::{Error, stamp};

/// A locked data directory. Opening it changes nothing; a caller changes it only by writing to
/// [`ClosedDataDir::store`]. Dropping it releases the lock.
#[derive(Debug)]
pub struct ClosedDataDir {
    path: PathBuf,
    store: Option<Arc<dyn ObjectStore>>,
    _lock: Lock,
}

/// A file of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredFile {
    /// Its path below the directory, with `/` between the names.
    pub path: String,
    /// Its length.
    pub bytes: u64,
}

impl ClosedDataDir {
    /// Locks the directory at `path`, and checks its format version. Creates, changes and removes no file. Blocking.
    ///
    /// # Errors
    /// [`Error::Locked`] when a server uses it, [`Error::UnknownFormat`] and [`Error::NotStamped`] when this binary
    /// cannot read its data, else [`Error::Io`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let lock = Lock::take_unchanged(&path)?;
        stamp::check_existing(&path)?;
        let folder = path.join("store");
        let store = match folder.is_dir() {
            false => None,
            true => {
                let store = LocalFileSystem::new_with_prefix(&folder)
                    .map_err(|error| Error::io("open", &folder, std::io::Error::other(error)))?;
                // Writes are synced, because `partita check` can rebuild a lost map.
                Some(Arc::new(store.with_fsync(true)) as Arc<dyn ObjectStore>)
            }
        };
        Ok(Self {
            path,
            store,
            _lock: lock,
        })
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The object store in the directory; `None` if its folder is missing.
    #[must_use]
    pub fn store(&self) -> Option<Arc<dyn ObjectStore>> {
        self.store.clone()
    }

    /// All files below the directory, at any depth, in the order of their paths. Blocking.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn files(&self) -> Result<Vec<StoredFile>, Error> {
        let mut files = Vec::new();
        let mut pending = vec![(self.path.clone(), String::new())];
        while let Some((folder, prefix)) = pending.pop() {
            let listed = |source| Error::io("list", &folder, source);
            for entry in fs::read_dir(&folder).map_err(listed)? {
                let entry = entry.map_err(listed)?;
                let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
                let found = |source| Error::io("read the properties of", &entry.path(), source);
                let meta = entry.metadata().map_err(found)?;
                if meta.is_dir() {
                    pending.push((entry.path(), format!("{path}/")));
                } else {
                    let bytes = meta.len();
                    files.push(StoredFile { path, bytes });
                }
            }
        }
        files.sort_unstable();
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataDir;

    #[test]
    fn a_check_locks_the_directory_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let data = DataDir::open(path).unwrap();
        let refused = ClosedDataDir::open(path).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
        drop(data);
        fs::write(path.join("store").join("a#1"), "x").unwrap();
        let before = fs::metadata(path.join("lock")).unwrap().modified().unwrap();
        let closed = ClosedDataDir::open(path).unwrap();
        let refused = DataDir::open(path).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
        let files = closed.files().unwrap();
        let names: Vec<&str> = files.iter().map(|file| &*file.path).collect();
        assert_eq!(names, ["lock", "partita.toml", "store/a#1"]);
        assert_eq!(files[2].bytes, 1);
        let after = fs::metadata(path.join("lock")).unwrap().modified().unwrap();
        assert_eq!(before, after);
        drop(closed);
        DataDir::open(path).unwrap();
    }

    #[test]
    fn a_directory_without_data_is_refused_and_stays_empty() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let refused = ClosedDataDir::open(path).unwrap_err();
        assert!(matches!(refused, Error::NotStamped { .. }), "{refused}");
        assert_eq!(fs::read_dir(path).unwrap().count(), 0);
        let refused = ClosedDataDir::open(path.join("missing")).unwrap_err();
        assert!(matches!(refused, Error::Io { .. }), "{refused}");
        assert!(!path.join("missing").exists());
    }
}
