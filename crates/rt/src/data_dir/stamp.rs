//! The format version of a data directory, in `partita.toml`.
//!
//! The file has two lines of a fixed form, so that reading it needs no parser:
//!
//! ```text
//! # The data directory of a Partita server; see docs/format/store.md.
//! format = 1
//! ```

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::sync::{sync_dir, sync_parent};
use super::{Error, FORMAT_VERSION};

const NAME: &str = "partita.toml";
const COMMENT: &str = "# The data directory of a Partita server; see docs/format/store.md.";

/// Whether `directory` is a data directory.
#[must_use]
pub fn is_data_dir(directory: &Path) -> bool {
    directory.join(NAME).exists()
}

/// Checks the version, or writes it into a directory without data. The directory's own name becomes durable first.
pub(super) fn check_or_write(directory: &Path, holds_data: bool) -> Result<(), Error> {
    let path = directory.join(NAME);
    match fs::read(&path) {
        Ok(bytes) => check(directory, &String::from_utf8_lossy(&bytes)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            if holds_data {
                return Err(Error::NotStamped {
                    path: directory.to_owned(),
                });
            }
            // A kill may have interrupted the creation of the directory before its parent was synced.
            sync_parent(directory)?;
            write(directory).map_err(|source| Error::io("write", &path, source))?;
            sync_dir(directory)
        }
        Err(source) => Err(Error::io("read", &path, source)),
    }
}

/// Checks the version of a directory that must have one.
pub(super) fn check_existing(directory: &Path) -> Result<(), Error> {
    let path = directory.join(NAME);
    match fs::read(&path) {
        Ok(bytes) => check(directory, &String::from_utf8_lossy(&bytes)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Err(Error::NotStamped {
            path: directory.to_owned(),
        }),
        Err(source) => Err(Error::io("read", &path, source)),
    }
}

fn check(directory: &Path, text: &str) -> Result<(), Error> {
    let found = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "format").then(|| value.trim().to_owned())
        })
        .unwrap_or_else(|| "(not a number)".to_owned());
    if found == FORMAT_VERSION.to_string() {
        return Ok(());
    }
    Err(Error::UnknownFormat {
        path: directory.to_owned(),
        found,
        known: FORMAT_VERSION,
    })
}

/// Writes to a temporary name first, so that the file is complete or absent. The caller syncs the directory.
fn write(directory: &Path) -> std::io::Result<()> {
    let partial = directory.join("partita.toml.new");
    let mut file = File::create(&partial)?;
    writeln!(file, "{COMMENT}\nformat = {FORMAT_VERSION}")?;
    file.sync_all()?;
    fs::rename(&partial, directory.join(NAME))
}
