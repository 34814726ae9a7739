//! A data directory that gets its final name only once it is complete, for restoring a backup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::Lock;
use super::{DataDir, Error, sync};

/// A data directory under a temporary name next to its target. An unfinished directory stays after the drop, and the
/// next attempt removes it.
#[derive(Debug)]
pub struct Building {
    target: PathBuf,
    place: PathBuf,
}

impl Building {
    /// Begins a data directory for `target`, which must be missing or empty. Removes the leftovers of an earlier
    /// attempt. Blocking.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Locked`] while another process builds it.
    pub fn begin(target: &Path) -> Result<Self, Error> {
        let taken = |kind| Error::io("create the directory", target, io::Error::from(kind));
        match fs::read_dir(target) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(taken(io::ErrorKind::DirectoryNotEmpty));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::io("read the directory", target, source)),
        }
        let name = target
            .file_name()
            .ok_or_else(|| taken(io::ErrorKind::InvalidInput))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".restoring");
        let place = target.with_file_name(hidden);
        if place.exists() {
            // Fails while another process builds the directory.
            let _lock = Lock::take(&place)?;
            remove(&place)?;
        }
        let target = target.to_owned();
        Ok(Self { target, place })
    }

    /// Removes the unfinished directory. Call it after the opened [`DataDir`] is dropped. Blocking.
    ///
    /// # Errors
    /// [`Error::Io`]; the next attempt removes it.
    pub fn abandon(self) -> Result<(), Error> {
        remove(&self.place)
    }

    /// Opens the directory for writing.
    ///
    /// # Errors
    /// Those of [`DataDir::open`].
    pub fn open(&self) -> Result<DataDir, Error> {
        DataDir::open(&self.place)
    }

    /// Renames the complete directory to its target. Call it after the opened [`DataDir`] is dropped. Blocking.
    ///
    /// # Errors
    /// [`Error::Io`]; the directory keeps its temporary name.
    pub fn finish(self) -> Result<(), Error> {
        let (from, to) = (&self.place, &self.target);
        fs::rename(from, to).map_err(|source| Error::io("rename the directory to", to, source))?;
        sync::sync_parent(to)
    }
}

fn remove(place: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove the directory", place, error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_appears_after_finish() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("data");
        let first = Building::begin(&target).unwrap();
        fs::write(first.open().unwrap().path().join("left"), "x").unwrap();
        assert!(!target.exists());
        drop(first);

        let second = Building::begin(&target).unwrap();
        let open = second.open().unwrap();
        let place = open.path().to_owned();
        assert!(!place.join("left").exists(), "leftovers are gone");
        let other = Building::begin(&target).unwrap_err();
        assert!(matches!(other, Error::Locked { .. }), "{other}");
        drop(open);
        Building::begin(&target).unwrap().abandon().unwrap();
        assert!(!place.exists());
        drop(second.open().unwrap());
        fs::create_dir(&target).unwrap();
        second.finish().unwrap();
        assert!(!place.exists());
        drop(DataDir::open(&target).unwrap());
        let taken = Building::begin(&target).unwrap_err().to_string();
        assert!(taken.contains("data"), "{taken}");
    }
}
