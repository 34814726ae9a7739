//! Files to a table.
//!
//! The parts of an export, or one file, are read one after the other and written by as many requests as wanted. A part's checksum is
//! compared before its first row is written. Timestamps are not written: they are the service's.

use super::blocking::joined;
use super::load::{CHUNKS_WAITING, Chunk, Load, LoadOptions};
use super::manifest::{Manifest, Part, Progress};
use super::observer::{Counts, Event, Observer};
use super::part_file::{checksum, verify};
use super::state::Checkpoint;
use super::{TransferError, blocking::blocking};
use crate::formats::{EntityReader, Format};
use partita_client::{Entity, TableClient};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Rows of a chunk.
const CHUNK_ROWS: usize = 1000;

/// How files are read, and how their rows are written.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The format of a single file; none to take it from its name. A directory's manifest says its own.
    pub format: Option<Format>,
    /// How rows are written.
    pub load: LoadOptions,
}

/// How far an import is: so many rows of a file, and all of those before it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    file: usize,
    rows: u64,
}

/// A file to be read.
struct Input {
    path: PathBuf,
    format: Format,
    /// What the manifest says of it.
    part: Option<Part>,
}

/// What is to be read, and what tells it from other files.
struct Inputs {
    files: Vec<Input>,
    identity: serde_json::Value,
}

/// Writes all rows of a file, or of an export's directory, to a table. If the future is dropped, the import stops as if it had been
/// killed.
///
/// # Errors
/// [`TransferError`]. Rows before the one at fault are written, and so may be some behind it.
pub async fn import(
    from: &Path,
    table: &TableClient,
    options: &ImportOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let (path, format) = (from.to_owned(), options.format);
    let has_state = options.load.state.is_some();
    let Inputs { files, identity } = blocking(move || inputs(&path, format, has_state)).await?;
    let job = serde_json::json!({
        "verb": "import",
        "from": identity,
        "to": { "endpoint": table.endpoint().to_string(), "table": table.name() },
        "mode": options.load.mode,
    });
    let load = &options.load;
    let begun = Checkpoint::<Mark>::begin(load, job, observer).await?;
    load.prepare(table).await?;
    let (chunks, taken) = mpsc::channel(CHUNKS_WAITING);
    let mut reading = JoinSet::new();
    let (mark, seen) = (begun.mark.unwrap_or_default(), Arc::clone(observer));
    reading.spawn_blocking(move || {
        if let Err(error) = read_files(&files, mark, &chunks, &*seen) {
            // Refused only when nobody writes any more.
            let _ = chunks.blocking_send(Err(error));
        }
        Ok(())
    });
    let load = Load::new(table, load, begun.checkpoint, begun.is_resumed, observer);
    let counts = load.run(taken).await?;
    match reading.join_next().await {
        Some(ended) => joined(ended).map(|()| counts),
        None => Err(TransferError::ShuttingDown),
    }
}

fn inputs(from: &Path, format: Option<Format>, has_state: bool) -> Result<Inputs, TransferError> {
    let files = if from.is_dir() {
        let manifest = Manifest::load(from)?;
        let missing = || TransferError::damaged(from, "it has no manifest");
        let manifest = manifest.ok_or_else(missing)?;
        if manifest.progress != Progress::Complete {
            return Err(TransferError::Incomplete(from.to_owned()));
        }
        let input = |(path, part): (PathBuf, &Part)| Input {
            path,
            format: manifest.format,
            part: Some(part.clone()),
        };
        manifest.files(from).map(input).collect()
    } else {
        let unknown = || TransferError::UnknownFormat(from.to_owned());
        vec![Input {
            path: from.to_owned(),
            format: format
                .or_else(|| Format::of_path(from))
                .ok_or_else(unknown)?,
            part: None,
        }]
    };
    let mut checksums = Vec::new();
    for Input { path, part, .. } in &files {
        checksums.push(match part {
            Some(part) => part.sha256.clone(),
            // Without a state nobody compares it.
            None if has_state => checksum(path)?,
            None => String::new(),
        });
    }
    let identity = serde_json::json!(checksums);
    Ok(Inputs { files, identity })
}

type Chunks = mpsc::Sender<Result<Chunk<Mark>, TransferError>>;

/// Reads all files from the mark on; ends without an error when nobody takes rows any more.
fn read_files(
    files: &[Input],
    from: Mark,
    chunks: &Chunks,
    observer: &dyn Observer,
) -> Result<(), TransferError> {
    for (at, input) in files.iter().enumerate().skip(from.file) {
        let Input { path, format, part } = input;
        if let Some(part) = part {
            verify(path, part)?;
        }
        let rows = EntityReader::open(path, *format).map_err(TransferError::rows(path))?;
        let mut mark = Mark { file: at, rows: 0 };
        let done = if at == from.file { from.rows } else { 0 };
        let mut chunk = Vec::new();
        for entity in rows {
            let entity: Entity = entity.map_err(TransferError::rows(path))?;
            mark.rows += 1;
            if mark.rows <= done {
                continue;
            }
            chunk.push(entity);
            if chunk.len() == CHUNK_ROWS {
                let rows = std::mem::take(&mut chunk);
                if chunks.blocking_send(Ok(Chunk { rows, mark })).is_err() {
                    return Ok(());
                }
            }
        }
        if part.as_ref().is_some_and(|part| part.rows != mark.rows) {
            let what = format!("it has {} rows, and not what the manifest says", mark.rows);
            return Err(TransferError::damaged(path, what));
        }
        observer.event(&Event::File {
            path,
            rows: mark.rows,
        });
        let rows = std::mem::take(&mut chunk);
        let mark = Mark {
            file: at + 1,
            rows: 0,
        };
        if chunks.blocking_send(Ok(Chunk { rows, mark })).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
