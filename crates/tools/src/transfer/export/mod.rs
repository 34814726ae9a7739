//! A table's rows to files.
//!
//! ```text
//! scan in the table's order ─▶ pages ─▶ part files, each with a checksum ─▶ manifest
//! ```
//!
//! Which properties a table has is known when all of its rows have been seen. So formats with columns are written in two steps: the
//! rows are fetched into compressed JSON lines, and the parts are made of these. The table is read once, and no row stays in
//! memory; the cost is room for the compressed rows, and their way through a file. Who declares the columns is spared it.
//!
//! A single file is made the same way, in a directory beside it that goes when the file is there.

mod convert;
mod fetch;
mod stream;

use super::blocking::{blocking, joined};
use super::manifest::{Manifest, Progress, Source};
use super::observer::{Counts, Event, Observer};
use super::rows::{IntoEntity, TableReader};
use super::{TransferError, size};
use crate::formats::{Format, Schema};
use crate::scan::{Order, PageSource, ResumeToken};
use fetch::{Fetch, Fetched};
use partita_client::Entity;
use std::fs::DirEntry;
use std::path::PathBuf;
use std::sync::Arc;
pub use stream::export_stream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Pages that wait to be written.
const PAGES_WAITING: usize = 4;

/// Where an export goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Parts and a manifest in a directory, which is made if it is not there.
    Directory(PathBuf),
    /// One file.
    File(PathBuf),
}

/// How an export is made.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The format of the files.
    pub format: Format,
    /// The columns, for a format that has them: a row with another property or type is an error then. None to take those that
    /// the rows have.
    pub columns: Option<Schema>,
    /// Rows of a part, about; at least 1.
    pub part_rows_max: u64,
    /// Bytes of a part's rows by the service's formula, about.
    pub part_bytes_max: u64,
    /// Whether to go on with an export that was stopped. One that was not begun is begun.
    pub resume: bool,
    /// Whether only to count.
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

/// Rows on their way from the scan to the file, and where the scan stood behind them.
struct Fetching {
    rows: Vec<Entity>,
    token: ResumeToken,
}

/// Writes all rows to files. If the future is dropped, the export stops as if it had been killed, and can be resumed.
///
/// # Errors
/// [`TransferError`]. What is done stays and can be resumed, unless it says otherwise.
pub async fn export<S: PageSource>(
    from: &TableReader<S>,
    to: &Destination,
    options: &ExportOptions,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError>
where
    S::Row: IntoEntity,
{
    if options.dry_run {
        return count(from, observer).await;
    }
    let work = Work {
        directory: match to {
            Destination::Directory(path) => path.clone(),
            Destination::File(path) => convert::partial_directory(path),
        },
        file: match to {
            Destination::Directory(_) => None,
            Destination::File(path) => Some(path.clone()),
        },
        options: options.clone(),
        observer: Arc::clone(observer),
    };
    let (work, source) = (Arc::new(work), from.source());
    let begun = Arc::clone(&work);
    let manifest = blocking(move || begun.begin(source)).await?;
    let mut counts = Counts::default();
    if manifest.rows > 0 {
        observer.event(&Event::Resumed {
            rows: manifest.rows,
        });
    }
    let manifest = if manifest.progress == Progress::Fetching {
        let fetched = fetch_all(from, &work, manifest).await?;
        counts.rows_read = fetched.rows;
        counts.bytes = fetched.bytes;
        fetched.manifest
    } else {
        manifest
    };
    let (rows, files) = blocking(move || convert::finish(&work, manifest)).await?;
    (counts.rows_written, counts.writes) = (rows, files);
    Ok(counts)
}

/// What an export works with.
struct Work {
    /// Where parts and manifest are.
    directory: PathBuf,
    /// The file that is to be made of the parts, if it is one.
    file: Option<PathBuf>,
    options: ExportOptions,
    observer: Arc<dyn Observer>,
}

impl Work {
    /// The format in which rows are fetched: that of the parts where it can be written at once.
    fn fetched_format(&self) -> Format {
        let format = self.options.format;
        let is_known = !format.has_columns() || self.options.columns.is_some();
        if self.file.is_none() && is_known {
            format
        } else {
            Format::JsonlZstd
        }
    }

    /// The manifest of a new export, or of one to go on with.
    fn begin(&self, source: Source) -> Result<Manifest, TransferError> {
        let directory = &self.directory;
        if let Some(manifest) = Manifest::load(directory)? {
            if !self.options.resume {
                return Err(TransferError::AlreadyThere(directory.clone()));
            }
            let Work { options, .. } = self;
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
            // The directory goes when the file is there, and its manifest goes just before it.
            if self.options.resume && directory.is_dir() {
                manifest.progress = Progress::Complete;
                return Ok(manifest);
            }
            return Err(TransferError::AlreadyThere(file.clone()));
        }
        std::fs::create_dir_all(directory).map_err(TransferError::io(directory))?;
        let mut entries = directory.read_dir().map_err(TransferError::io(directory))?;
        let is_strange = |entry: DirEntry| !convert::is_leftover(&entry.file_name());
        if entries.any(|entry| entry.is_ok_and(is_strange)) {
            return Err(TransferError::AlreadyThere(directory.clone()));
        }
        manifest.save(directory)?;
        Ok(manifest)
    }
}

/// Reads what is left of the table while a thread writes it.
async fn fetch_all<S: PageSource>(
    from: &TableReader<S>,
    work: &Arc<Work>,
    manifest: Manifest,
) -> Result<Fetched, TransferError>
where
    S::Row: IntoEntity,
{
    let mut scan = from.scan(Order::Table, manifest.resume.clone())?;
    let (pages, mut taken) = mpsc::channel::<Fetching>(PAGES_WAITING);
    let mut fetch = Fetch::new(Arc::clone(work), manifest);
    let mut writing = JoinSet::new();
    // It ends when no more pages come; whether all of them came only this side knows.
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
        let rows = batch
            .rows
            .into_iter()
            .map(IntoEntity::into_entity)
            .collect();
        let token = scan.token();
        // Refused only when the thread has stopped, and then it says why.
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
    let fetched = match writing.join_next().await {
        Some(ended) => joined(ended)?,
        None => return Err(TransferError::ShuttingDown),
    };
    match failure {
        Some(error) => Err(error),
        None => Ok(fetched),
    }
}

async fn count<S: PageSource>(
    from: &TableReader<S>,
    observer: &Arc<dyn Observer>,
) -> Result<Counts, TransferError>
where
    S::Row: IntoEntity,
{
    let mut scan = from.scan(Order::Any, None)?;
    let mut counts = Counts::default();
    while let Some(batch) = scan.next().await {
        let rows = batch?.rows;
        let read = rows.len() as u64;
        let entities = rows.into_iter().map(IntoEntity::into_entity);
        let bytes = entities.map(|entity| size::entity_bytes(&entity)).sum();
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
