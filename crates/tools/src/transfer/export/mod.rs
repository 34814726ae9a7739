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

mod convert;
mod fetch;
mod stream;

use super::blocking::{blocking, ended as finished};
use super::manifest::{Manifest, Progress, Source};
use super::observer::{Counts, Event, Observer};
use super::rows::TableReader;
use super::{TransferError, size};
use crate::formats::{Format, Schema};
use crate::scan::{Order, PageSource, ResumeToken};
use fetch::Fetch;
use partita_client::Entity;
use std::fs::DirEntry;
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

/// Options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format of the files.
    pub format: Format,
    /// The columns, for a format with columns; a row with another property or type is an error. `None` uses the columns
    /// of the rows.
    pub columns: Option<Schema>,
    /// Approximate number of rows per part, at least 1.
    pub part_rows_max: u64,
    /// Approximate size of the rows per part by the service's formula, in bytes.
    pub part_bytes_max: u64,
    /// Whether to resume the export that was stopped in this directory. Without one, a new export starts.
    pub resume: bool,
    /// Whether to only count rows, without writing files.
    pub dry_run: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            format: Format::Jsonl,
            columns: None,
            part_rows_max: 500_000,
            part_bytes_max: 512 * 1024 * 1024,
            resume: false,
            dry_run: false,
        }
    }
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
    if options.dry_run {
        return count(from, observer).await;
    }
    let (directory, file) = match to {
        Destination::Directory(path) => (path.clone(), None),
        Destination::File(path) => (convert::partial_directory(path), Some(path.clone())),
    };
    let work = Work {
        directory,
        file,
        options: options.clone(),
        observer: Arc::clone(observer),
    };
    let (work, source) = (Arc::new(work), from.source());
    let begun = Arc::clone(&work);
    let mut manifest = blocking(move || begun.begin(source)).await?;
    let mut counts = Counts::default();
    if manifest.rows > 0 {
        observer.event(&Event::Resumed {
            rows: manifest.rows,
        });
    }
    if manifest.progress == Progress::Fetching {
        (manifest, counts) = fetch_all(from, &work, manifest).await?;
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

    /// The manifest of a new export, or of an export to resume.
    fn begin(&self, source: Source) -> Result<Manifest, TransferError> {
        let directory = &self.directory;
        if let Some(manifest) = Manifest::load(directory)? {
            if !self.options.resume {
                return Err(TransferError::AlreadyThere(directory.clone()));
            }
            let options = &self.options;
            let begun = manifest.declared.then_some(&manifest.columns);
            let is_same = manifest.source == source
                && manifest.format == options.format
                && options.columns.as_ref() == begun;
            if !is_same {
                return Err(TransferError::OtherJob(directory.clone()));
            }
            return Ok(manifest);
        }
        let columns = self.options.columns.as_ref();
        let mut manifest = Manifest::new(source, self.options.format, columns);
        if let Some(file) = self.file.as_ref().filter(|file| file.exists()) {
            // The file and its temporary directory exist, but no manifest: the export was complete, and only the
            // directory was not yet removed.
            if self.options.resume && directory.is_dir() {
                manifest.progress = Progress::Complete;
                return Ok(manifest);
            }
            return Err(TransferError::AlreadyThere(file.clone()));
        }
        std::fs::create_dir_all(directory).map_err(TransferError::io(directory))?;
        let mut entries = directory.read_dir().map_err(TransferError::io(directory))?;
        let is_foreign = |entry: DirEntry| !convert::is_leftover(&entry.file_name());
        if entries.any(|entry| entry.is_ok_and(is_foreign)) {
            return Err(TransferError::AlreadyThere(directory.clone()));
        }
        manifest.save(directory)?;
        Ok(manifest)
    }
}

/// Reads the rest of the table, while another thread writes the rows to files.
async fn fetch_all<S: PageSource<Row = Entity>>(
    from: &TableReader<S>,
    work: &Arc<Work>,
    manifest: Manifest,
) -> Result<(Manifest, Counts), TransferError> {
    let token = manifest.resume.as_ref().map(|text| text.parse());
    let mut scan = from.scan(Order::Table, token.transpose()?)?;
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
    while let Some(batch) = scan.next().await {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                failure = Some(error.into());
                break;
            }
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

async fn count<S: PageSource<Row = Entity>>(
    from: &TableReader<S>,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError> {
    let mut scan = from.scan(Order::Any, None)?;
    let mut counts = Counts::default();
    while let Some(batch) = scan.next().await {
        let rows = batch?.rows;
        let read = rows.len() as u64;
        let bytes = rows.iter().map(size::entity_bytes).sum();
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
