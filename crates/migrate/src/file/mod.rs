//! Reads migrations from a directory with one TOML file each. `docs/migrations.md` describes the format.
//!
//! Errors name file, line, column and key. An unknown key is an error, because a misspelt key that is ignored would
//! change a step without notice. The error suggests the most similar name.

mod fields;
mod steps;
mod values;

use super::migration::check_head;
use super::{InvalidMigration, Migration, Migrations};
use fields::{Fields, Text};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::de::DeTable;

/// Largest file, in bytes. Migrations contain a few rows, not the data of a table.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Maximum number of migration files in a directory.
const FILES_MAX: usize = 10_000;

/// A file that is not a valid migration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:{line}:{column}: {what}", .path.display())]
pub struct FileError {
    /// The path of the file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// A description of the error, with the invalid key.
    pub what: String,
}

/// Why the migrations of a directory cannot be read.
#[derive(Debug, Error)]
pub enum MigrationsError {
    /// The directory or a file in it cannot be read.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The path of the directory or file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is not a valid migration.
    #[error(transparent)]
    File(#[from] FileError),
    /// A migration is invalid, or two have the same version or id.
    #[error(transparent)]
    Set(#[from] InvalidMigration),
}

/// Reads the migrations of a directory: its files `*.toml`. Versions decide the order, not file names.
///
/// # Errors
/// [`MigrationsError`].
pub fn read_directory(directory: &Path) -> Result<Migrations, MigrationsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| MigrationsError::Io { path, source }
    };
    let entries = fs::read_dir(directory).map_err(failed(directory))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed(directory))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            paths.push(path);
        }
        if paths.len() > FILES_MAX {
            let what = format!("the directory has more than {FILES_MAX} migration files");
            let source = io::Error::other(what);
            return Err(failed(directory)(source));
        }
    }
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = read(&path).map_err(failed(&path))?;
        all.push((parse(&text, &path)?, Some(path)));
    }
    Ok(Migrations::of_sources(all)?)
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!(
            "the file is larger than {} MiB",
            FILE_BYTES_MAX >> 20
        )));
    }
    Ok(text)
}

/// Parses the text of a migration file. `path` is used in errors.
///
/// # Errors
/// [`FileError`].
pub fn parse(text: &str, path: &Path) -> Result<Migration, FileError> {
    let text = Text { path, text };
    let parsed = DeTable::parse(text.text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        text.error(&span, error.message())
    })?;
    let fields = Fields {
        text,
        table: parsed.get_ref(),
        span: parsed.span(),
        place: String::new(),
    };
    fields.check_known(&["version", "id", "description", "up", "down"])?;
    let (version, version_span) = fields
        .integer("version")?
        .ok_or_else(|| fields.missing("version"))?;
    let (id, id_span) = fields.required("id")?;
    let version = u64::try_from(version).unwrap_or(0);
    check_head(version, "id").map_err(|what| text.error(&version_span, &what))?;
    check_head(1, id).map_err(|what| text.error(&id_span, &what))?;
    let up = fields.tables("up")?.ok_or_else(|| fields.missing("up"))?;
    let down = fields.tables("down")?;
    let migration = Migration {
        description: fields
            .string("description")?
            .map_or_else(String::new, |(text, _)| text.to_owned()),
        up: steps::read(&up)?,
        down: down.map(|down| steps::read(&down)).transpose()?,
        ..Migration::new(version, id)
    };
    // Errors of the remaining checks have no position of their own, so they name the start of the file.
    migration
        .check()
        .map_err(|error| text.error(&(0..0), &error.what))?;
    Ok(migration)
}

#[cfg(test)]
mod tests;
