//! Reports as files.

use crate::error::CommandError;
use crate::progress::confirm;
use partita_tools::stress::{REPORT_BYTES_MAX, Report};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Checks that a file can be written before the run has cost anything, and asks before an existing file is overwritten.
pub(super) fn check_writable(path: Option<&PathBuf>, yes: bool) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    let parent = path.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
        return Err(CommandError::usage(format!(
            "cannot write {}: there is no directory {}",
            path.display(),
            parent.display()
        )));
    }
    if path.is_dir() {
        let path = path.display();
        return Err(CommandError::usage(format!(
            "cannot write {path}: it is a directory"
        )));
    }
    if path.exists() {
        confirm(&format!("overwrite {}", path.display()), yes)?;
    }
    Ok(())
}

/// Writes a file, if its flag is given.
pub(super) fn write(
    path: Option<&PathBuf>,
    content: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    match path {
        Some(path) => {
            let failed = CommandError::because(format!("cannot write {}", path.display()));
            std::fs::write(path, content()).map_err(failed)
        }
        None => Ok(()),
    }
}

/// Reads a report.
pub(super) fn read(path: &Path) -> Result<Report, CommandError> {
    let what = || format!("cannot read {}", path.display());
    let file = File::open(path).map_err(CommandError::because(what()))?;
    let mut content = String::new();
    file.take(REPORT_BYTES_MAX)
        .read_to_string(&mut content)
        .map_err(CommandError::because(what()))?;
    Report::read(&content).map_err(|source| CommandError::Report {
        path: path.display().to_string(),
        source,
    })
}
