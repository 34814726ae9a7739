//! Removes the partial files that a crash left in the object store.
//!
//! The object store writes to `name#<number>` and then renames the file. A crash before the rename leaves the partial
//! file. Listings hide it and no other code removes it, so its space would be lost.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;
use std::time::Duration;

use super::Error;
use crate::{Clock as _, SystemClock};

/// The age of a partial file that no process can still be writing.
const ABANDONED_AGE: Duration = Duration::from_secs(3_600);

/// Removes the partial files under `directory`, at any depth. No other process may write to it.
pub(super) fn sweep(directory: &Path) -> Result<(), Error> {
    sweep_if(directory, &|_| true)
}

/// Removes the partial files under `directory`, at any depth, that are at least an hour old. Other processes may write
/// to it. Blocking.
///
/// # Errors
/// [`Error::Io`].
pub fn sweep_shared(directory: &Path) -> Result<(), Error> {
    sweep_older(directory, ABANDONED_AGE)
}

fn sweep_older(directory: &Path, age: Duration) -> Result<(), Error> {
    let now = SystemClock.now();
    // A file of the future, by a clock that was set back, has no age.
    let is_old = |entry: &DirEntry| {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let passed = modified.map(|at| now.duration_since(at).unwrap_or_default());
        passed.is_ok_and(|passed| passed >= age)
    };
    sweep_if(directory, &is_old)
}

fn sweep_if(directory: &Path, removes: &dyn Fn(&DirEntry) -> bool) -> Result<(), Error> {
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries =
            fs::read_dir(&directory).map_err(|source| Error::io("list", &directory, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| Error::io("list", &directory, source))?;
            let path = entry.path();
            let kind = entry
                .file_type()
                .map_err(|source| Error::io("read the type of", &path, source))?;
            if kind.is_dir() {
                pending.push(path);
            } else if entry.file_name().to_str().is_some_and(is_partial) && removes(&entry) {
                match fs::remove_file(&path) {
                    // Another process was faster.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    removed => removed.map_err(|source| Error::io("remove", &path, source))?,
                }
                tracing::info!(path = %path.display(), "removed an abandoned temporary file");
            }
        }
    }
    Ok(())
}

fn is_partial(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A partial file may be of another process that is writing it.
    #[test]
    fn a_shared_folder_keeps_young_partial_files() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("range-1");
        fs::create_dir(&folder).unwrap();
        let (partial, whole) = (folder.join("a.sst#1"), folder.join("a.sst"));
        fs::write(&partial, "x").unwrap();
        fs::write(&whole, "x").unwrap();
        sweep_shared(directory.path()).unwrap();
        assert!(partial.exists());
        sweep_older(directory.path(), Duration::ZERO).unwrap();
        assert!(!partial.exists() && whole.exists());
    }
}
