//! Imports files into a table.
//!
//! Reads one file, or the parts of an export one after the other, and writes the rows with several requests at a time.
//! A part's checksum is verified before its first row is written. Timestamps are not written, because the service sets
//! them.

use super::input_file::{InputFile, Mark, OpenFile, inputs, read_files};
use super::observer::{Counts, Event, Observer};
use super::state::{Checkpoint, JOB_FROM, StartedJob};
use super::upload::{Chunks, upload};
use super::{TransferError, WriteOptions, blocking::blocking};
use crate::formats::{EntityReader, InputFormat, ReadOptions};
use partita_client::TableClient;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

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
    let (path, format, delimiter) = (from.to_owned(), options.format, options.delimiter);
    let has_state = options.load.state.is_some();
    let (files, checksums) = blocking(move || inputs(&path, format, delimiter, has_state)).await?;
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
fn size_of(files: &[InputFile]) -> Result<Event<'static>, TransferError> {
    let (mut rows, mut bytes) = (Some(0), 0);
    for InputFile { path, rows: of, .. } in files {
        rows = rows.zip(*of).map(|(rows, more)| rows + more);
        bytes += path.metadata().map_err(TransferError::io(path))?.len();
    }
    Ok(Event::Input { rows, bytes })
}

/// The number of rows before a mark; `None` if a file before it has an unknown number of rows.
fn rows_before(files: &[InputFile], mark: Mark) -> Option<u64> {
    let whole = files.iter().take(mark.file).map(|input| input.rows);
    let whole: Option<u64> = whole.sum();
    whole.map(|rows| rows + mark.rows)
}
