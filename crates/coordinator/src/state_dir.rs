//! The state directory of a process: a lock, and the life that its process had last.
//!
//! The lock proves that the process of the stored life is dead. So its successor revokes that life's lease at once, and
//! everything that it served can be assigned without waiting for the TTL: a restart in place.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use partita_rt::data_dir::{self, Lock};
use serde::{Deserialize, Serialize};

use crate::record::{Life, RecordError, decode, encode};

/// The file with the last life.
const FILE: &str = "life.json";

/// A locked state directory. Dropping it releases the lock.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    _lock: Lock,
}

#[derive(Serialize, Deserialize)]
struct LastLife {
    life: Life,
}

/// Why a state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// Another process uses it.
    #[error(transparent)]
    Lock(#[from] data_dir::Error),
    /// The file of the last life is not valid. Without it, a start waits until the last lease has expired: delete it.
    #[error("{} is not valid; delete it to start without it", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: RecordError,
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

impl StateDirError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

impl StateDir {
    /// Creates the directory if it is missing, and locks it. Blocking: some file operations.
    ///
    /// # Errors
    /// [`StateDirError`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StateDirError> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(StateDirError::io("create", &path))?;
        let lock = Lock::take(&path)?;
        Ok(Self { path, _lock: lock })
    }

    /// The life of the last process that used the directory, unless it left. Blocking: one file is read.
    ///
    /// # Errors
    /// [`StateDirError`].
    pub fn last_life(&self) -> Result<Option<Life>, StateDirError> {
        let path = self.path.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StateDirError::io("read", &path)(source)),
        };
        let last: LastLife =
            decode(FILE, &bytes).map_err(|source| StateDirError::Invalid { path, source })?;
        Ok(Some(last.life))
    }

    /// Stores the life that begins. Blocking: writes and syncs one file.
    ///
    /// # Errors
    /// [`StateDirError`].
    pub(crate) fn begin(&self, life: Life) -> Result<(), StateDirError> {
        let (path, partial) = (self.path.join(FILE), self.path.join("life.json.new"));
        let write = || {
            let mut file = File::create(&partial)?;
            file.write_all(&encode(&LastLife { life }))?;
            file.sync_all()?;
            fs::rename(&partial, &path)?;
            // The name is durable, too: an older life would hide this one.
            File::open(&self.path)?.sync_all()
        };
        write().map_err(StateDirError::io("write", &path))
    }

    /// Notes that the life was ended. Blocking: removes one file.
    ///
    /// # Errors
    /// [`StateDirError`].
    pub(crate) fn left(&self) -> Result<(), StateDirError> {
        let path = self.path.join(FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateDirError::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::LeaseId;

    #[test]
    fn the_last_life_is_kept_until_the_process_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/state");
        let life = Life(LeaseId(7));
        let state = StateDir::open(&path).unwrap();
        assert_eq!(state.last_life().unwrap(), None);
        state.begin(Life(LeaseId(6))).unwrap();
        state.begin(life).unwrap();
        drop(state);
        let state = StateDir::open(&path).unwrap();
        assert_eq!(state.last_life().unwrap(), Some(life));
        state.left().unwrap();
        assert_eq!(state.last_life().unwrap(), None);
        state.left().unwrap();
    }

    #[test]
    fn two_processes_cannot_use_it() {
        let folder = tempfile::tempdir().unwrap();
        let _state = StateDir::open(folder.path()).unwrap();
        let refused = StateDir::open(folder.path()).unwrap_err();
        assert!(matches!(refused, StateDirError::Lock(_)), "{refused}");
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        fs::write(folder.path().join(FILE), b"{}").unwrap();
        let refused = state.last_life().unwrap_err();
        assert!(
            matches!(refused, StateDirError::Invalid { .. }),
            "{refused}"
        );
    }
}
