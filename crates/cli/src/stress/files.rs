//! Reads and writes the files of reports.

use crate::prelude::*;
use partita_tools::stress::{REPORT_BYTES_MAX, Report};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Checks before the run that the directory of a file exists, and asks before an existing file is overwritten.
pub(super) fn check_writable(
    path: Option<&PathBuf>,
    confirm: &ConfirmArgs,
    progress: &mut Progress,
) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    let name = path.display();
    let parent = path.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    let why = match parent.filter(|parent| !parent.is_dir()) {
        Some(parent) => format!("directory {} not found", parent.display()),
        None if path.is_dir() => "it is a directory".to_owned(),
        None if path.exists() => return confirm.confirm(&format!("overwrite {name}"), progress),
        None => return Ok(()),
    };
    Err(CommandError::usage(format!("cannot write {name}: {why}")))
}

/// Writes a file, if its flag is given.
pub(super) fn write(
    path: Option<&PathBuf>,
    content: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, content()).because(format!("cannot write {}", path.display()))
}

/// Reads a report.
pub(super) fn read(path: &Path) -> Result<Report, CommandError> {
    let mut content = String::new();
    File::open(path)
        .and_then(|file| file.take(REPORT_BYTES_MAX).read_to_string(&mut content))
        .because(format!("cannot read {}", path.display()))?;
    Report::read(&content).because(format!("cannot read {} as a report", path.display()))
}
