//! Exports a table's rows to files.
//!
//! ```text
//! scan in the table's order ─▶ pages ─▶ part files, each with a checksum ─▶ manifest
//! ```
//!
//! The properties of a table are known only after all its rows have been read. So formats with columns are written in
//! two steps: rows are fetched into compressed JSON lines, and then converted into parts. This reads the table only
//! once and needs little memory, but takes disk space for the compressed rows and a second pass over them. With
//! declared columns, rows are written directly.
//!
//! An export to a single file always has both steps. Its fetched rows are in a temporary directory next to the file.
//!
//! Files and directories are created only after the first page was read, so a table that cannot be read leaves none.

mod begin;
mod convert;
mod fetch;
mod stream;

use super::TransferError;
use super::blocking::{blocking, ended as finished};
use super::manifest::{Manifest, Progress};
use super::observer::{Counts, Event, Observer};
use super::rows::TableReader;
use crate::formats::{Format, Schema, Style};
use crate::scan::{Batch, Order, PageSource, ResumeToken, Scan};
use fetch::Fetch;
use partita_bulk::entity_bytes;
use partita_client::Entity;
use std::path::PathBuf;
use std::sync::Arc;
pub use stream::export_stream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Maximum number of pages that wait to be written.
const PAGES_WAITING: usize = 4;

/// The destination of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Parts and a manifest in a directory, which is created if it does not exist.
    Directory(PathBuf),
    /// One file.
    File(PathBuf),
}

impl Destination {
    /// The directory of the manifest while the export runs.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Directory(path) => path.clone(),
            Self::File(path) => convert::partial_directory(path),
        }
    }

    /// Whether there is a finished export, or a file, that [`ExportOptions::overwrite`] replaces.
    pub fn is_replaceable(&self) -> bool {
        match self {
            Self::File(path) => path.is_file(),
            Self::Directory(path) => {
                let manifest = Manifest::load(path).ok().flatten();
                manifest.is_some_and(|manifest| manifest.progress == Progress::Complete)
            }
        }
    }

    /// Whether an export to this destination was interrupted, and can be resumed.
    pub fn is_interrupted(&self) -> bool {
        let manifest = Manifest::load(&self.directory()).ok().flatten();
        manifest.is_some_and(|manifest| manifest.progress != Progress::Complete)
    }
}

/// Options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format of the files.
    pub format: Format,
    /// Which columns the files leave out.
    pub style: Style,
    /// The columns, for a format with columns; a row with another property or type is an error. `None` uses the columns
    /// of the rows.
    pub columns: Option<Schema>,
    /// Approximate number of rows per part, at least 1.
    pub part_rows_max: u64,
    /// Approximate size of the rows per part by the service's formula, in bytes.
    pub part_bytes_max: u64,
    /// Whether to resume the export that was stopped in this directory. Without one, a new export starts.
    pub resume: bool,
    /// Whether to discard the export that was stopped in this directory, and to start a new one.
    pub restart: bool,
    /// Whether to replace a file or a finished export. A file is replaced at the end, a directory at the beginning.
    pub overwrite: bool,
    /// Whether to only look at the destination and count rows, without writing files.
    pub dry_run: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            format: Format::Jsonl,
            style: Style::default(),
            columns: None,
            part_rows_max: 500_000,
            part_bytes_max: 512 * 1024 * 1024,
            resume: false,
            restart: false,
            overwrite: false,
            dry_run: false,
        }
    }
}

/// A new export: its scan, and the first page; `None` without rows.
struct Opened<S: PageSource> {
    scan: Scan<S>,
    first: Option<Batch<S::Row>>,
}

/// A page of rows to write to a file, and the position of the scan after the page.
struct Fetching {
    rows: Vec<Entity>,
    token: ResumeToken,
}

/// Writes all rows to files. If the future is dropped, the export stops as if it had been killed, and can be resumed.
///
/// # Errors
/// [`TransferError`]. Unless its variant says otherwise, the export can be resumed.
pub async fn export<S: PageSource<Row = Entity>>(
    from: &TableReader<S>,
    to: &Destination,
    options: &ExportOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let work = Work {
        directory: to.directory(),
        file: match to {
            Destination::Directory(_) => None,
            Destination::File(path) => Some(path.clone()),
        },
        options: options.clone(),
        observer: Arc::clone(observer),
    };
    let (work, source) = (Arc::new(work), from.source());
    let (begun, wanted) = (Arc::clone(&work), source.clone());
    let found = blocking(move || begun.find(&wanted)).await?;
    if options.dry_run {
        return count_rows(from, observer).await;
    }
    let (mut manifest, mut opened) = match found {
        Some(manifest) => (manifest, None),
        None => {
            let mut scan = from.scan(Order::Table, None)?;
            let first = scan.next().await.transpose()?;
            let begun = Arc::clone(&work);
            let manifest = blocking(move || begun.create(source)).await?;
            (manifest, Some(Opened { scan, first }))
        }
    };
    let mut counts = Counts::default();
    if manifest.rows > 0 {
        observer.event(&Event::Resumed {
            rows: manifest.rows,
        });
    }
    if manifest.progress == Progress::Fetching {
        (manifest, counts) = fetch_all(from, &work, manifest, opened.take()).await?;
    }
    let (rows, files) = blocking(move || convert::finish(&work, manifest)).await?;
    (counts.rows_written, counts.writes) = (rows, files);
    Ok(counts)
}

/// The context of an export.
struct Work {
    /// The directory of parts and manifest.
    directory: PathBuf,
    /// The single file to write, if the destination is a file.
    file: Option<PathBuf>,
    options: ExportOptions,
    observer: Arc<dyn Observer>,
}

impl Work {
    /// The format of fetched rows: the format of the parts if they can be written directly.
    fn fetched_format(&self) -> Format {
        let format = self.options.format;
        let is_known = !format.has_columns() || self.options.columns.is_some();
        if self.file.is_none() && is_known {
            format
        } else {
            Format::JsonlZstd
        }
    }

    /// The format and style of fetched rows.
    fn fetched_style(&self) -> (Format, Style) {
        let style = if self.is_staged() {
            Style::default()
        } else {
            self.options.style
        };
        (self.fetched_format(), style)
    }
}

/// Reads the rest of the table, while another thread writes the rows to files.
async fn fetch_all<S: PageSource<Row = Entity>>(
    from: &TableReader<S>,
    work: &Arc<Work>,
    manifest: Manifest,
    opened: Option<Opened<S>>,
) -> Result<(Manifest, Counts), TransferError> {
    let opened = match opened {
        Some(opened) => opened,
        None => {
            let token = manifest.resume.as_ref().map(|text| text.parse());
            let scan = from.scan(Order::Table, token.transpose()?)?;
            Opened { scan, first: None }
        }
    };
    let Opened { mut scan, first } = opened;
    let mut next = first.map(Ok);
    let (pages, mut taken) = mpsc::channel::<Fetching>(PAGES_WAITING);
    let mut fetch = Fetch::new(Arc::clone(work), manifest);
    let mut writing = JoinSet::new();
    // After the last page, a message means that all rows were fetched; a closed channel means a failure.
    let (ended, all_came) = tokio::sync::oneshot::channel::<()>();
    writing.spawn_blocking(move || {
        while let Some(page) = taken.blocking_recv() {
            fetch.take(page)?;
        }
        fetch.finish(all_came.blocking_recv().is_ok())
    });
    let mut failure: Option<TransferError> = None;
    loop {
        let batch = match next.take() {
            None => scan.next().await,
            first => first,
        };
        let batch = match batch {
            Some(Ok(batch)) => batch,
            Some(Err(error)) => {
                failure = Some(error.into());
                break;
            }
            None => break,
        };
        let (rows, token) = (batch.rows, scan.token());
        // The channel is closed only if the thread has failed; the thread's result contains the reason.
        if pages.send(Fetching { rows, token }).await.is_err() {
            break;
        }
        if work.observer.is_stopped() {
            failure = Some(TransferError::Stopped);
            break;
        }
    }
    drop(pages);
    match failure {
        None => drop(ended.send(())),
        Some(_) => drop(ended),
    }
    let fetched = finished(&mut writing).await?;
    failure.map_or(Ok(fetched), Err)
}

/// Counts the rows of a table, as a dry run of an export.
///
/// # Errors
/// [`TransferError::Read`], [`TransferError::Stopped`].
pub async fn count_rows<S: PageSource<Row = Entity>>(
    from: &TableReader<S>,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let mut scan = from.scan(Order::Any, None)?;
    let mut counts = Counts::default();
    while let Some(batch) = scan.next().await {
        let rows = batch?.rows;
        let read = rows.len() as u64;
        let bytes = rows.iter().map(entity_bytes).sum();
        observer.event(&Event::Read { rows: read, bytes });
        counts.rows_read += read;
        counts.bytes += bytes;
        if observer.is_stopped() {
            return Err(TransferError::Stopped);
        }
    }
    counts.rows_written = counts.rows_read;
    Ok(counts)
}
