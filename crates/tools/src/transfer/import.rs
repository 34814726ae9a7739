//! Imports files into a table.
//!
//! Reads one file, or the parts of an export one after the other, and writes the rows with several requests at a time.
//! A part's checksum is verified before its first row is written. Timestamps are not written, because the service sets
//! them.

use super::manifest::{ExportPart, MANIFEST_FILE, Manifest, Progress};
use super::observer::{Counts, Event, Observer};
use super::part_file::{checksum, verify};
use super::state::{Checkpoint, JOB_FROM, StartedJob};
use super::upload::{Chunk, Chunks, upload};
use super::{TransferError, WriteOptions, blocking::blocking};
use crate::formats::{EntityReader, InputFormat, ReadOptions};
use partita_client::{Entity, TableClient};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of rows of a chunk.
const CHUNK_ROWS: usize = 1000;

/// Options of an import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The format of a single file; `None` to take it from the file name. Ignored for a directory, whose manifest
    /// contains the format.
    pub format: Option<InputFormat>,
    /// The delimiter of a CSV file; `None` to take it from the first line.
    pub delimiter: Option<u8>,
    /// How rows are written.
    pub load: WriteOptions,
}

/// The position of an import: all files before `file` are written, and the first `rows` rows of `file`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The index of the file.
    file: usize,
    rows: u64,
}

/// A file to read.
struct Input {
    path: PathBuf,
    read: ReadOptions,
    /// The file's entry in the manifest; `None` for a single file.
    part: Option<ExportPart>,
    /// The number of rows, if known.
    rows: Option<u64>,
}

/// Writes all rows of a file, or of an export's directory, to a table. If the future is dropped, the import stops as if
/// it had been killed.
///
/// # Errors
/// [`TransferError`]. Some rows before the failed row may be missing from the table, and some rows after it may be
/// written. A resumed import writes the missing ones.
pub async fn import(
    from: &Path,
    table: &TableClient,
    options: &ImportOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let (path, asked) = (from.to_owned(), options.clone());
    let (files, checksums) = blocking(move || inputs(&path, &asked)).await?;
    let job = serde_json::json!({
        "verb": "import",
        (JOB_FROM): checksums,
        "to": { "endpoint": table.endpoint().to_string(), "table": table.name() },
        "mode": options.load.mode,
    });
    let load = &options.load;
    let begun = Checkpoint::<Mark>::begin(load, job, observer).await?;
    observer.event(&size_of(&files)?);
    let mark = begun.mark.unwrap_or_default();
    if let Some(rows) = rows_before(&files, mark).filter(|rows| *rows > 0) {
        observer.event(&Event::Resumed { rows });
    }
    let seen = Arc::clone(observer);
    let read = move |chunks: &Chunks<Mark>| read_files(&files, mark, chunks, &*seen);
    run(read, begun, table, load, observer).await
}

/// Writes all rows of a stream to a table. Errors contain `name` as the path. A stream cannot be read again, so the
/// import cannot be resumed, and [`WriteOptions::state`] is ignored.
///
/// # Errors
/// [`TransferError`]. Some rows before the failed row may be missing from the table, and some rows after it may be
/// written.
pub async fn import_stream(
    input: impl Read + Send + 'static,
    (name, format): (&Path, ReadOptions),
    table: &TableClient,
    load: &WriteOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let without_state = WriteOptions {
        state: None,
        ..load.clone()
    };
    let begun = Checkpoint::<Mark>::begin(&without_state, serde_json::Value::Null, observer);
    let (begun, name, seen) = (begun.await?, name.to_owned(), Arc::clone(observer));
    let read = move |chunks: &Chunks<Mark>| {
        let rows = EntityReader::of_stream(input, format).map_err(TransferError::rows(&name))?;
        let file = OpenFile {
            path: &name,
            at: 0,
            done: 0,
            expected: None,
        };
        file.read(rows, chunks, &*seen).map(drop)
    };
    run(read, begun, table, load, observer).await
}

/// Runs `read` on a separate thread, and writes the rows that it reads.
async fn run(
    read: impl FnOnce(&Chunks<Mark>) -> Result<(), TransferError> + Send + 'static,
    begun: StartedJob<Mark>,
    table: &TableClient,
    load: &WriteOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    upload(table, load, begun, observer, |reading, chunks| {
        reading.spawn_blocking(move || {
            if let Err(error) = read(&chunks) {
                // The channel is closed only if the writer has stopped, which then reports its own failure.
                let _ = chunks.blocking_send(Err(error));
            }
            Ok(())
        });
    })
    .await
}

/// The event with the size of all input files.
fn size_of(files: &[Input]) -> Result<Event<'static>, TransferError> {
    let (mut rows, mut bytes) = (Some(0), 0);
    for Input { path, rows: of, .. } in files {
        rows = rows.zip(*of).map(|(rows, more)| rows + more);
        bytes += path.metadata().map_err(TransferError::io(path))?.len();
    }
    Ok(Event::Input { rows, bytes })
}

/// The number of rows before a mark; `None` if a file before it has an unknown number of rows.
fn rows_before(files: &[Input], mark: Mark) -> Option<u64> {
    let whole = files.iter().take(mark.file).map(|input| input.rows);
    let whole: Option<u64> = whole.sum();
    whole.map(|rows| rows + mark.rows)
}

/// The files to read, and the checksum of each. Without a progress file, the checksum of a single file is empty.
fn inputs(
    from: &Path,
    options: &ImportOptions,
) -> Result<(Vec<Input>, Vec<String>), TransferError> {
    let files = if from.is_dir() {
        let manifest = Manifest::load(from)?;
        let missing = || {
            let what = format!(
                "the directory has no {MANIFEST_FILE}, so it is not an export; name a file to import one"
            );
            TransferError::damaged(from, what)
        };
        let manifest = manifest.ok_or_else(missing)?;
        if manifest.progress != Progress::Complete {
            return Err(TransferError::Incomplete(from.to_owned()));
        }
        let input = |(path, part): (PathBuf, &ExportPart)| Input {
            path,
            read: manifest.format.into(),
            part: Some(part.clone()),
            rows: Some(part.rows),
        };
        manifest.files(from).map(input).collect()
    } else {
        let format = options.format.or_else(|| InputFormat::of_path(from));
        let read = ReadOptions {
            format: format.ok_or_else(|| TransferError::unknown_input_format(from))?,
            delimiter: options.delimiter,
        };
        let opened = EntityReader::open(from, read).map_err(TransferError::rows(from))?;
        vec![Input {
            path: from.to_owned(),
            read,
            part: None,
            rows: opened.rows(),
        }]
    };
    let mut checksums = Vec::new();
    for Input { path, part, .. } in &files {
        checksums.push(match part {
            Some(part) => part.sha256.clone(),
            // The checksum is needed only in the progress file.
            None if options.load.state.is_some() => checksum(path)?,
            None => String::new(),
        });
    }
    Ok((files, checksums))
}

/// Reads all files from the mark on and sends their rows as chunks, unless the channel is closed before the end.
fn read_files(
    files: &[Input],
    from: Mark,
    chunks: &Chunks<Mark>,
    observer: &dyn Observer,
) -> Result<(), TransferError> {
    for (at, input) in files.iter().enumerate().skip(from.file) {
        let path = &input.path;
        if let Some(part) = &input.part {
            verify(path, part)?;
        }
        let rows = EntityReader::open(path, input.read).map_err(TransferError::rows(path))?;
        let file = OpenFile {
            path,
            at,
            done: if at == from.file { from.rows } else { 0 },
            expected: input.part.as_ref().map(|part| part.rows),
        };
        if !file.read(rows, chunks, observer)? {
            break;
        }
    }
    Ok(())
}

/// A file to read.
struct OpenFile<'a> {
    path: &'a Path,
    /// The index of the file.
    at: usize,
    /// Number of rows to skip, because an earlier run has written them.
    done: u64,
    /// The file's number of rows, if a manifest contains it.
    expected: Option<u64>,
}

impl OpenFile<'_> {
    /// Reads the file and sends its rows as chunks. Returns false if the channel is closed.
    fn read(
        &self,
        mut rows: EntityReader,
        chunks: &Chunks<Mark>,
        observer: &dyn Observer,
    ) -> Result<bool, TransferError> {
        let path = self.path;
        let says_rows = self.expected.is_some() || rows.rows().is_some();
        let mut mark = Mark {
            file: self.at,
            rows: 0,
        };
        let mut chunk = Vec::new();
        while let Some(entity) = rows.next() {
            let entity: Entity = entity.map_err(TransferError::rows(path))?;
            mark.rows += 1;
            if mark.rows <= self.done {
                continue;
            }
            chunk.push(entity);
            if chunk.len() == CHUNK_ROWS {
                if !says_rows {
                    let bytes = rows.taken_bytes();
                    observer.event(&Event::Position { bytes });
                }
                let rows = std::mem::take(&mut chunk);
                if chunks.blocking_send(Ok(Chunk { rows, mark })).is_err() {
                    return Ok(false);
                }
            }
        }
        if self.expected.is_some_and(|rows| rows != mark.rows) {
            let expected = self.expected.unwrap_or_default();
            let what = format!(
                "the file has {} rows, but the manifest has {expected}",
                mark.rows
            );
            return Err(TransferError::damaged(path, what));
        }
        let rows = mark.rows;
        observer.event(&Event::File { path, rows });
        let mark = Mark {
            file: self.at + 1,
            rows: 0,
        };
        let rows = chunk;
        Ok(chunks.blocking_send(Ok(Chunk { rows, mark })).is_ok())
    }
}
