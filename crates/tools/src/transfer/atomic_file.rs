//! Replaces, renames and removes files. A replacement is atomic and durable, even if the power fails.
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
    let temporary = temporary(path);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(TransferError::io(&temporary))?;
    rename(&temporary, path)
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
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    // Windows cannot sync directories.
    match File::open(parent) {
        Ok(directory) if cfg!(unix) => directory.sync_all().map_err(TransferError::io(parent)),
        _ => Ok(()),
    }
}
