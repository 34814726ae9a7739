//! Converts fetched rows into the requested files, on a separate thread.
//!
//! Each fetched file becomes one part. The manifest is replaced after each part, so a resumed export writes only the
//! remaining parts. A single file is written in one pass. After an interruption, it is written again from the start.

use super::Work;
use crate::formats::{EntityReader, Format};
use crate::transfer::manifest::{ExportPart, MANIFEST_FILE, Manifest, Progress};
use crate::transfer::observer::Event;
use crate::transfer::part_file::{PartWriter, verify, verify_size};
use crate::transfer::{TransferError, atomic_file};
use partita_bulk::entity_bytes;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// Number of rows between two progress events.
const ROWS_IN_EVENT: u64 = 1000;

/// The temporary directory of an export to a single file.
pub(super) fn partial_directory(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

impl Work {
    /// Whether fetched rows must be converted: they are then fetched into temporary files.
    pub(super) fn is_staged(&self) -> bool {
        self.file.is_some() || self.fetched_format() != self.options.format
    }

    pub(super) fn fetched_name(&self, at: usize) -> String {
        if self.is_staged() {
            format!("fetched-{at:05}.{}", Format::JsonlZstd.name())
        } else {
            self.part_name(at)
        }
    }

    fn written(&self, rows: &mut u64, bytes: &mut u64) {
        let (rows, bytes) = (std::mem::take(rows), std::mem::take(bytes));
        self.observer.event(&Event::Written { rows, bytes });
    }

    fn part_name(&self, at: usize) -> String {
        format!("part-{at:05}.{}", self.options.format.name())
    }
}

/// Converts all fetched files that are not yet parts, and completes the export. Returns the number of rows and files of
/// the whole export.
pub(super) fn finish(work: &Work, mut manifest: Manifest) -> Result<(u64, u64), TransferError> {
    let directory = &work.directory;
    if manifest.progress == Progress::Converting {
        if work.is_staged() {
            work.observer.event(&Event::Converting {
                rows: manifest.rows,
            });
        }
        match &work.file {
            Some(file) => manifest.parts = vec![make_file(work, &manifest, file)?],
            None if work.is_staged() => make_parts(work, &mut manifest)?,
            None => {}
        }
        manifest.progress = Progress::Complete;
        if work.file.is_none() {
            manifest.staged.clear();
        }
        manifest.save(directory)?;
    }
    let (rows, files) = (manifest.rows, manifest.parts.len() as u64);
    if let Some(file) = &work.file {
        for part in &manifest.parts {
            verify_size(file, part)?;
        }
        for part in &manifest.staged {
            atomic_file::remove(&directory.join(&part.file))?;
        }
        remove_leftovers(directory)?;
        // The manifest is removed after all other files. So a resumed export without a manifest treats the file as
        // complete.
        atomic_file::remove(&directory.join(MANIFEST_FILE))?;
        std::fs::remove_dir(directory).map_err(TransferError::io(directory))?;
        return Ok((rows, files));
    }
    for (path, part) in manifest.files(directory) {
        verify_size(&path, part)?;
    }
    remove_leftovers(directory)?;
    Ok((rows, files))
}

/// Converts each fetched file into a part, and removes the fetched file.
fn make_parts(work: &Work, manifest: &mut Manifest) -> Result<(), TransferError> {
    for at in 0..manifest.staged.len() {
        let Some(staged) = manifest.staged.get(at).cloned() else {
            break;
        };
        let fetched = work.directory.join(&staged.file);
        if at >= manifest.parts.len() {
            let path = work.directory.join(work.part_name(at));
            let style = (manifest.format, manifest.style);
            let mut part = PartWriter::create(path.clone(), style, &manifest.columns)?;
            copy_rows(work, &staged, &mut part)?;
            manifest.parts.push(part.finish()?);
            manifest.save(&work.directory)?;
            work.observer.event(&Event::Saved);
            let rows = staged.rows;
            work.observer.event(&Event::File { path: &path, rows });
        }
        atomic_file::remove(&fetched)?;
    }
    Ok(())
}

fn make_file(work: &Work, manifest: &Manifest, file: &Path) -> Result<ExportPart, TransferError> {
    let style = (manifest.format, manifest.style);
    let mut whole = PartWriter::create(file.to_owned(), style, &manifest.columns)?;
    for staged in &manifest.staged {
        copy_rows(work, staged, &mut whole)?;
    }
    let part = whole.finish()?;
    let rows = part.rows;
    work.observer.event(&Event::File { path: file, rows });
    Ok(part)
}

fn copy_rows(work: &Work, staged: &ExportPart, to: &mut PartWriter) -> Result<(), TransferError> {
    let path = work.directory.join(&staged.file);
    verify(&path, staged)?;
    let rows = EntityReader::open(&path, Format::JsonlZstd).map_err(TransferError::rows(&path))?;
    let (mut rows_since, mut bytes_since) = (0, 0);
    for entity in rows {
        let entity = entity.map_err(TransferError::rows(&path))?;
        to.write(&entity)?;
        rows_since += 1;
        bytes_since += entity_bytes(&entity);
        if rows_since == ROWS_IN_EVENT {
            work.written(&mut rows_since, &mut bytes_since);
            if work.observer.is_stopped() {
                return Err(TransferError::Stopped);
            }
        }
    }
    work.written(&mut rows_since, &mut bytes_since);
    Ok(())
}

/// Whether this is the name of a file of an export.
fn is_ours(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["part-", "fetched-", MANIFEST_FILE]
        .iter()
        .any(|begin| name.starts_with(begin))
}

/// Whether this is the name of a temporary file of an export.
pub(super) fn is_leftover(name: &OsStr) -> bool {
    is_ours(name) && name.to_string_lossy().ends_with(".tmp")
}

/// Removes temporary files of killed runs.
fn remove_leftovers(directory: &Path) -> Result<(), TransferError> {
    remove_files(directory, |entry| is_leftover(&entry.file_name()))
}

/// Removes all files of an interrupted export. The manifest is the last, so a discard that is interrupted can be
/// repeated.
pub(super) fn discard(directory: &Path) -> Result<(), TransferError> {
    remove_files(directory, |entry| {
        is_ours(&entry.file_name()) && entry.file_name() != MANIFEST_FILE
    })?;
    atomic_file::remove(&directory.join(MANIFEST_FILE))
}

fn remove_files(
    directory: &Path,
    is_wanted: impl Fn(&DirEntry) -> bool,
) -> Result<(), TransferError> {
    let entries = directory.read_dir().map_err(TransferError::io(directory))?;
    for entry in entries {
        let entry = entry.map_err(TransferError::io(directory))?;
        if is_wanted(&entry) {
            atomic_file::remove(&entry.path())?;
        }
    }
    Ok(())
}
