//! The files of an import, and their rows.

use super::TransferError;
use super::blocking::ended;
use super::manifest::{ExportPart, MANIFEST_FILE, Manifest, Progress};
use super::observer::{Event, Observer};
use super::part_file::{checksum, verify};
use super::upload::{CHUNKS_WAITING, Chunk, Chunks};
use crate::formats::{EntityReader, InputFormat, ReadOptions};
use partita_client::Entity;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Maximum number of rows of a chunk.
const CHUNK_ROWS: usize = 1000;

/// The position of an import: all files before `file` are written, and the first `rows` rows of `file`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    /// The index of the file.
    pub(super) file: usize,
    pub(super) rows: u64,
}

/// A file to read.
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    pub(crate) read: ReadOptions,
    /// The file's entry in the manifest; `None` for a single file.
    pub(crate) part: Option<ExportPart>,
    /// The number of rows, if known.
    pub(crate) rows: Option<u64>,
}

/// The rows of one file, chunk by chunk. A separate thread reads them.
pub(crate) struct FileRows {
    chunks: mpsc::Receiver<Result<Chunk<Mark>, TransferError>>,
    reading: JoinSet<Result<(), TransferError>>,
    rows: u64,
}

impl FileRows {
    /// Reads a file, after a number of its rows. Verifies its checksum first, if a manifest contains it.
    pub(crate) fn open(file: InputFile, done: u64) -> Self {
        let (chunks, taken) = mpsc::channel(CHUNKS_WAITING);
        let mut reading = JoinSet::new();
        let from = Mark {
            file: 0,
            rows: done,
        };
        reading.spawn_blocking(move || {
            if let Err(error) = read_files(&[file], from, &chunks, &()) {
                // The channel is closed only if the rows are no longer wanted.
                let _ = chunks.blocking_send(Err(error));
            }
            Ok(())
        });
        Self {
            chunks: taken,
            reading,
            rows: done,
        }
    }

    /// The next rows, and the number of rows of the file up to these; `None` at the end of the file.
    ///
    /// # Errors
    /// [`TransferError`]. The rows before the failure were returned.
    pub(crate) async fn next(&mut self) -> Result<Option<(Vec<Entity>, u64)>, TransferError> {
        match self.chunks.recv().await {
            Some(chunk) => {
                let rows = chunk?.rows;
                self.rows += rows.len() as u64;
                Ok(Some((rows, self.rows)))
            }
            None => ended(&mut self.reading).await.map(|()| None),
        }
    }
}

/// The files to read: a single file, or those of an export's directory.
///
/// # Errors
/// [`TransferError`].
pub(crate) fn input_files(
    from: &Path,
    format: Option<InputFormat>,
) -> Result<Vec<InputFile>, TransferError> {
    inputs(from, format, None, false).map(|(files, _)| files)
}

/// The files to read, and the checksum of each. Without a progress file, the checksum of a single file is empty.
pub(super) fn inputs(
    from: &Path,
    format: Option<InputFormat>,
    delimiter: Option<u8>,
    has_state: bool,
) -> Result<(Vec<InputFile>, Vec<String>), TransferError> {
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
        let input = |(path, part): (PathBuf, &ExportPart)| InputFile {
            path,
            read: manifest.format.into(),
            part: Some(part.clone()),
            rows: Some(part.rows),
        };
        manifest.files(from).map(input).collect()
    } else {
        let format = format.or_else(|| InputFormat::of_path(from));
        let read = ReadOptions {
            format: format.ok_or_else(|| TransferError::unknown_input_format(from))?,
            delimiter,
        };
        let opened = EntityReader::open(from, read).map_err(TransferError::rows(from))?;
        vec![InputFile {
            path: from.to_owned(),
            read,
            part: None,
            rows: opened.rows(),
        }]
    };
    let mut checksums = Vec::new();
    for InputFile { path, part, .. } in &files {
        checksums.push(match part {
            Some(part) => part.sha256.clone(),
            // The checksum is needed only in the progress file.
            None if has_state => checksum(path)?,
            None => String::new(),
        });
    }
    Ok((files, checksums))
}

/// Reads all files from the mark on and sends their rows as chunks, unless the channel is closed before the end.
pub(super) fn read_files(
    files: &[InputFile],
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

/// A file that is being read.
pub(super) struct OpenFile<'a> {
    pub(super) path: &'a Path,
    /// The index of the file.
    pub(super) at: usize,
    /// Number of rows to skip, because an earlier run has written them.
    pub(super) done: u64,
    /// The file's number of rows, if a manifest contains it.
    pub(super) expected: Option<u64>,
}

impl OpenFile<'_> {
    /// Reads the file and sends its rows as chunks. Returns false if the channel is closed.
    pub(super) fn read(
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
