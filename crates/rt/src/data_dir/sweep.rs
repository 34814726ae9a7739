//! Removes the partial files that a crash left in the object store.
//!
//! The object store writes to `name#<number>` and then renames the file. A crash before the rename leaves the partial
//! file. Listings hide it and no other code removes it, so its space would be lost.

use std::fs;
use std::path::Path;

use super::Error;

/// Removes the partial files under `directory`, at any depth.
pub(super) fn sweep(directory: &Path) -> Result<(), Error> {
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
            } else if entry.file_name().to_str().is_some_and(is_abandoned) {
                fs::remove_file(&path).map_err(|source| Error::io("remove", &path, source))?;
                tracing::info!(path = %path.display(), "removed an abandoned temporary file");
            }
        }
    }
    Ok(())
}

fn is_abandoned(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
