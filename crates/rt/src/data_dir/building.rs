//! A data directory that is made from something else, and is there once all of it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::Lock;
use super::{DataDir, Error, stamp};

/// A directory under another name, beside the place where it will be. Dropped unfinished it stays, and the next try removes it.
#[derive(Debug)]
pub struct Building {
    target: PathBuf,
    place: PathBuf,
}

impl Building {
    /// Begins a data directory for `target`, which must not be there, or be empty. Removes what an earlier try left. Blocking.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Locked`] while somebody else makes it.
    pub fn begin(target: &Path) -> Result<Self, Error> {
        let taken = |kind| Error::io("make the directory", target, io::Error::from(kind));
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
            // Somebody may be filling it at this moment.
            let _lock = Lock::take(&place)?;
            remove(&place)?;
        }
        let target = target.to_owned();
        Ok(Self { target, place })
    }

    /// Gives it up, once whoever filled it has let go of it. Blocking.
    ///
    /// # Errors
    /// [`Error::Io`]; the next try removes it.
    pub fn abandon(self) -> Result<(), Error> {
        remove(&self.place)
    }

    /// Opens it, to be filled.
    ///
    /// # Errors
    /// As [`DataDir::open`].
    pub fn open(&self) -> Result<DataDir, Error> {
        DataDir::open(&self.place)
    }

    /// It is filled, and whoever filled it has let go of it: gives it its name. Blocking.
    ///
    /// # Errors
    /// [`Error::Io`]; it is still under its other name.
    pub fn finish(self) -> Result<(), Error> {
        let (from, to) = (&self.place, &self.target);
        fs::rename(from, to).map_err(|source| Error::io("give its name to", to, source))?;
        match to.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => stamp::sync_dir(parent),
            _ => Ok(()),
        }
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
    fn a_directory_is_there_once_it_is_finished() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("data");
        let first = Building::begin(&target).unwrap();
        fs::write(first.open().unwrap().path().join("left"), "x").unwrap();
        assert!(!target.exists());
        drop(first);

        let second = Building::begin(&target).unwrap();
        let open = second.open().unwrap();
        let place = open.path().to_owned();
        assert!(!place.join("left").exists(), "what was left is gone");
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
