//! Replaces, renames and removes files, and creates directories. A replacement is atomic and durable, even if the power fails.
//!
//! ```text
//! write name.tmp ─▶ sync it ─▶ rename to name ─▶ sync the directory
//! ```

use super::TransferError;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The temporary name of a file that is being written.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Replaces the content of a file.
///
/// # Errors
/// [`TransferError::Io`]. The file then has its old content or the new one.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), TransferError> {
    replace_by(path, temporary(path), bytes)
}

/// As [`replace`], for a file that several processes may replace at the same time: each has another temporary name. A
/// killed process leaves its temporary file.
///
/// # Errors
/// [`TransferError::Io`]. The file then has its old content or a new one.
pub(super) fn replace_shared(path: &Path, bytes: &[u8]) -> Result<(), TransferError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}.tmp", fastrand::u64(..)));
    replace_by(path, PathBuf::from(name), bytes)
}

fn replace_by(path: &Path, temporary: PathBuf, bytes: &[u8]) -> Result<(), TransferError> {
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(TransferError::io(&temporary))?;
    rename(&temporary, path)
}

/// Creates a directory, unless it exists. Returns whether it was created. Its parent must exist: a mistyped path should
/// not create a tree of directories.
///
/// # Errors
/// [`TransferError::NoDirectory`], [`TransferError::Io`].
pub(super) fn create_directory(path: &Path) -> Result<bool, TransferError> {
    check_parent(path)?;
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => {
            Ok(false)
        }
        Err(error) => Err(TransferError::io(path)(error)),
    }
}

/// Checks that the directory of a file to write exists.
///
/// # Errors
/// [`TransferError::NoDirectory`].
pub(super) fn check_parent(path: &Path) -> Result<(), TransferError> {
    let parent = parent_of(path);
    if parent.is_dir() {
        return Ok(());
    }
    Err(TransferError::NoDirectory {
        path: path.to_owned(),
        parent: parent.to_owned(),
    })
}

/// The directory of a path.
fn parent_of(path: &Path) -> &Path {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Renames a file that is already synced, and syncs its new directory.
///
/// # Errors
/// [`TransferError::Io`].
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), TransferError> {
    fs::rename(from, to).map_err(TransferError::io(to))?;
    sync_directory_of(to)
}

/// Removes a file, if it exists.
///
/// # Errors
/// [`TransferError::Io`].
pub(super) fn remove(path: &Path) -> Result<(), TransferError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TransferError::io(path)(error))
        }
        _ => Ok(()),
    }
}

fn sync_directory_of(path: &Path) -> Result<(), TransferError> {
    let parent = parent_of(path);
    // Windows cannot sync directories.
    match File::open(parent) {
        Ok(directory) if cfg!(unix) => directory.sync_all().map_err(TransferError::io(parent)),
        _ => Ok(()),
    }
}
