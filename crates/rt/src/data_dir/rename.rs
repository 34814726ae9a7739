//! Renaming folders of the object store.

use std::fs::{self, File};
use std::io;

use super::DataDir;

impl DataDir {
    /// Renames a folder of the object store with all its files, in one step. The new name is durable. Returns `false`,
    /// and changes nothing, if the folder is missing or the new name is taken. Blocking.
    ///
    /// # Errors
    /// Errors of the file system; the folder may have either name.
    pub fn rename_folder(&self, from: &str, to: &str) -> io::Result<bool> {
        let (store, folder) = (self.path.join("store"), from);
        let (from, to) = (store.join(from), store.join(to));
        let (old_parent, new_parent) = (
            from.parent().unwrap_or(&store),
            to.parent().unwrap_or(&store),
        );
        if !from.is_dir() || to.exists() {
            return Ok(false);
        }
        fs::create_dir_all(new_parent)?;
        fs::rename(&from, &to)?;
        self.store.0.close_folder(folder);
        for folder in [new_parent, old_parent, &store] {
            File::open(folder)?.sync_all()?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_moves_with_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::open(directory.path()).unwrap();
        let store = directory.path().join("store");
        assert!(!data.rename_folder("range-1", "trash/1").unwrap());
        fs::create_dir_all(store.join("range-1/manifest")).unwrap();
        fs::write(store.join("range-1/manifest/1"), "m").unwrap();
        assert!(data.rename_folder("range-1", "trash/1").unwrap());
        assert_eq!(fs::read(store.join("trash/1/manifest/1")).unwrap(), b"m");
        assert!(!store.join("range-1").exists());
        fs::create_dir_all(store.join("range-1")).unwrap();
        assert!(
            !data.rename_folder("range-1", "trash/1").unwrap(),
            "the name is taken"
        );
        assert!(store.join("range-1").exists());
    }
}
