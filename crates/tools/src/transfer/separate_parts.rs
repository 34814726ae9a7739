//! Exports whose parts are written independently of each other, by several processes, and described by one manifest at
//! the end.

use super::blocking::blocking;
use super::manifest::{ExportPart, Manifest, Progress, Source};
use super::part_file::PartWriter;
use super::{TransferError, atomic_file};
use crate::formats::{Format, Schema, Style};
use partita_client::Entity;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The prefix of the names of parts.
const PART: &str = "part-";

/// Creates the directory of an export, whose own directory must exist. An existing directory must be empty.
///
/// # Errors
/// [`TransferError::NoDirectory`], [`TransferError::AlreadyThere`], [`TransferError::Io`].
pub(crate) async fn create_directory(directory: PathBuf) -> Result<(), TransferError> {
    blocking(move || {
        atomic_file::create_directory(&directory)?;
        let entries = directory
            .read_dir()
            .map_err(TransferError::io(&directory))?;
        match entries.count() {
            0 => Ok(()),
            _ => Err(TransferError::AlreadyThere(directory)),
        }
    })
    .await
}

/// Writes rows, which must be in the table's order, to the part `part-NAME.FORMAT`. The part has the columns of these
/// rows. Once this returns, the part is durable.
///
/// # Errors
/// [`TransferError`].
pub(crate) async fn write_part(
    directory: PathBuf,
    name: String,
    format: Format,
    rows: Vec<Entity>,
) -> Result<(ExportPart, Schema), TransferError> {
    blocking(move || {
        let path = directory.join(format!("{PART}{name}.{}", format.name()));
        let mut columns = Schema::default();
        for row in &rows {
            let added = columns.add(row);
            // A format without columns allows any number of properties; the manifest then has only the first ones.
            if format.has_columns() {
                added.map_err(TransferError::rows(&path))?;
            }
        }
        let mut part = PartWriter::create(path, (format, Style::default()), &columns)?;
        rows.iter().try_for_each(|row| part.write(row))?;
        Ok((part.finish()?, columns))
    })
    .await
}

/// Removes a part that no manifest will name.
///
/// # Errors
/// [`TransferError::Io`].
pub(crate) async fn remove_part(path: PathBuf) -> Result<(), TransferError> {
    blocking(move || atomic_file::remove(&path)).await
}

/// Writes the manifest of a complete export, and removes all other parts of its directory. `parts` must be in the
/// table's order.
///
/// # Errors
/// [`TransferError`].
pub(crate) async fn write_manifest(
    directory: PathBuf,
    source: Source,
    format: Format,
    parts: Vec<(ExportPart, Schema)>,
) -> Result<(), TransferError> {
    blocking(move || {
        let mut manifest = Manifest::new(source, format, None);
        manifest.progress = Progress::Complete;
        let mut columns = Vec::new();
        for (part, schema) in parts {
            columns.extend(schema.columns().iter().cloned());
            manifest.rows += part.rows;
            manifest.parts.push(part);
        }
        manifest.columns = Schema::merged(columns);
        manifest.save_shared(&directory)?;
        remove_others(&directory, &manifest)
    })
    .await
}

fn remove_others(directory: &Path, manifest: &Manifest) -> Result<(), TransferError> {
    let named: HashSet<&str> = manifest.parts.iter().map(|part| &*part.file).collect();
    let entries = directory.read_dir().map_err(TransferError::io(directory))?;
    for entry in entries {
        let name = entry.map_err(TransferError::io(directory))?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PART) && !named.contains(&*name) {
            atomic_file::remove(&directory.join(&*name))?;
        }
    }
    Ok(())
}
