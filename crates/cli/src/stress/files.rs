//! Reports as files.

use crate::args::text;
use crate::error::Failure;
use crate::progress::confirm;
use clap::ArgMatches;
use partita_tools::stress::{REPORT_BYTES_MAX, Report};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Looks whether files can be written, before it has cost anything, and asks before one is overwritten.
pub(crate) fn check(matches: &ArgMatches, names: &[&str]) -> Result<(), Failure> {
    let paths = names
        .iter()
        .filter_map(|name| matches.get_one::<PathBuf>(name));
    for path in paths {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if parent.is_some_and(|parent| !parent.is_dir()) || path.is_dir() {
            return Err(Failure::usage(format!(
                "{} cannot be a file",
                path.display()
            )));
        }
        if path.exists() {
            confirm(
                &format!("overwrite {}", path.display()),
                matches.get_flag("yes"),
            )?;
        }
    }
    Ok(())
}

/// Writes a file that a flag names, if it does.
pub(crate) fn write(
    matches: &ArgMatches,
    name: &str,
    content: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match matches.get_one::<PathBuf>(name) {
        Some(path) => fs::write(path, content()).map_err(Failure::Output),
        None => Ok(()),
    }
}

/// Reads the report that an argument names.
pub(crate) fn read(matches: &ArgMatches, name: &str) -> Result<Report, Failure> {
    let path = text(matches, name).unwrap_or_default();
    let file =
        File::open(Path::new(path)).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let mut content = String::new();
    file.take(REPORT_BYTES_MAX)
        .read_to_string(&mut content)
        .map_err(Failure::Input)?;
    Report::read(&content).map_err(|source| Failure::Report {
        path: path.to_owned(),
        source,
    })
}
