//! Locks a data directory, so that only one process uses it.
//!
//! The operating system locks the directory itself, so that removing or replacing a file in it does not admit a second
//! process. It also locks the file `lock`, because earlier versions of Partita lock only that file. Both locks end with
//! the process, so a killed process leaves nothing to clean up. The file holds the process id, which a second process
//! shows in its error message.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::Error;

/// The held locks of a directory; released when dropped.
#[derive(Debug)]
pub struct Lock {
    /// `None` on a file system that cannot lock directories.
    _directory: Option<File>,
    /// `None` if the file is missing and must not be created.
    _file: Option<File>,
}

impl Lock {
    /// Locks the directory, which must exist. Blocking: some file operations.
    ///
    /// # Errors
    /// [`Error::Locked`] when another process has locked it, else [`Error::Io`].
    pub fn take(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("lock");
        let locked = lock_directory(directory)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| Error::io("open", &path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(directory)),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path, source)),
        }
        // Writing the process id may fail on a full disk; the lock works without it.
        let _ = note_holder(&mut file);
        Ok(Self {
            _directory: locked,
            _file: Some(file),
        })
    }

    /// Locks the directory without changing it.
    pub(super) fn take_unchanged(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("lock");
        let locked = lock_directory(directory)?;
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(Error::io("open", &path, source)),
        };
        match file.as_ref().map_or(Ok(()), File::try_lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(directory)),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path, source)),
        }
        Ok(Self {
            _directory: locked,
            _file: file,
        })
    }
}

/// Locks the directory itself. `None` if its file system cannot lock directories: over NFS an exclusive lock needs a
/// file that is open for writing, which a directory never is.
fn lock_directory(directory: &Path) -> Result<Option<File>, Error> {
    let opened = File::open(directory).map_err(|source| Error::io("open", directory, source))?;
    match opened.try_lock() {
        Ok(()) => Ok(Some(opened)),
        Err(TryLockError::WouldBlock) => Err(in_use(directory)),
        Err(TryLockError::Error(error)) => {
            tracing::warn!(
                path = %directory.display(), %error,
                "the file system cannot lock a directory; only the file `lock` keeps a second process out: do not remove it"
            );
            Ok(None)
        }
    }
}

fn in_use(directory: &Path) -> Error {
    Error::Locked {
        path: directory.to_owned(),
        holder: holder(directory),
    }
}

fn note_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The process id in the lock file, if it names one.
fn holder(directory: &Path) -> Option<u32> {
    let file = File::open(directory.join("lock")).ok()?;
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
