//! Files that a flag of a command names, such as `--html`: checked before the work, written after it.

use crate::prelude::*;
use std::path::PathBuf;

/// Checks before the work that the directory of a file exists, and asks before an existing file is overwritten.
pub(crate) fn check_writable(
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
pub(crate) fn write(
    path: Option<&PathBuf>,
    content: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, content()).because(format!("cannot write {}", path.display()))
}
