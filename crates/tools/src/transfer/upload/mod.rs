//! Writes rows into a table, for import and copy.
//!
//! ```text
//! chunks of rows, each with a mark ─▶ batches of one partition ─▶ parallel writes ─▶ last mark with all rows written
//! ```
//!
//! Promises:
//! - the number of rows in memory is bounded: see [`batches`], and [`CHUNKS_WAITING`] chunks wait at most;
//! - two rows with the same key are written one after the other, in their order;
//! - a mark is saved only when all rows before it are written. Writes may end in any order;
//! - the table is created when the first rows have been read. So a source that cannot be read leaves no empty table.

mod batches;
mod dry_run;
mod marks;

use super::blocking::{ended, joined};
use super::observer::{Counts, Event, Observer};
use super::state::{Checkpoint, StartedJob};
use super::{TargetState, TransferError, WriteOptions, create_if_missing};
use batches::{Batch, Batches, Receipt};
use marks::Marks;
use partita_bulk::{Mode, Writer, entity_bytes};
use partita_client::{Entity, TableClient, UnknownOutcome};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Maximum number of chunks that wait in the channel between reader and writer.
pub(super) const CHUNKS_WAITING: usize = 2;

/// Rows that were read together.
pub(super) struct Chunk<M> {
    pub(super) rows: Vec<Entity>,
    /// The position of the source after the rows.
    pub(super) mark: M,
}

/// The channel on which a reader sends its chunks, or its failure. The channel is closed if the writer stops.
pub(super) type Chunks<M> = mpsc::Sender<Result<Chunk<M>, TransferError>>;

/// A batch that has been written.
#[derive(Debug)]
struct Written {
    receipt: Receipt,
    /// Number of rows written; in a dry run, of rows that would be.
    written: u64,
    /// Number of rows that were skipped, because they already existed.
    skipped: u64,
    /// In a dry run, the number of existing rows that would be changed.
    changed: u64,
}

/// What is done with the rows.
enum Sink {
    /// They are written.
    Table(Writer),
    /// A dry run looks which of them the table has.
    Look(TableClient, Mode),
    /// A dry run only counts them, because the table has no rows.
    Count,
}

impl Sink {
    /// Creates the table if it is to be created. A dry run looks at it instead.
    async fn open(
        table: &TableClient,
        options: &WriteOptions,
        is_resumed: bool,
    ) -> Result<Self, TransferError> {
        let mode = options.mode;
        if options.dry_run {
            let state = TargetState::of(table).await;
            return match state.map_err(|error| TransferError::Target(Box::new(error)))? {
                TargetState::HasRows => Ok(Self::Look(table.clone(), mode)),
                TargetState::Missing if !options.create_table => {
                    Err(TransferError::NoTarget(table.name().to_owned()))
                }
                TargetState::Missing | TargetState::Empty => Ok(Self::Count),
            };
        }
        if options.create_table {
            let created = create_if_missing(table).await;
            created.map_err(|error| TransferError::Create(Box::new(error)))?;
        }
        Ok(Self::Table(Writer {
            table: table.clone(),
            mode,
            is_resumed,
        }))
    }

    async fn write(&self, batch: Batch) -> Result<Written, TransferError> {
        match self {
            Self::Table(writer) => {
                let (rows, receipt) = (batch.rows, batch.receipt);
                let written = writer.write_rows(&rows).await?;
                Ok(Written {
                    receipt,
                    written: written as u64,
                    skipped: (rows.len() - written) as u64,
                    changed: 0,
                })
            }
            Self::Look(table, mode) => dry_run::look(table, *mode, batch).await,
            Self::Count => Ok(Written {
                written: batch.rows.len() as u64,
                receipt: batch.receipt,
                skipped: 0,
                changed: 0,
            }),
        }
    }
}

/// Writes the rows of a job. `read` spawns the task that reads them.
pub(super) async fn upload<M: Serialize + DeserializeOwned + Send + 'static>(
    table: &TableClient,
    options: &WriteOptions,
    begun: StartedJob<M>,
    observer: &Arc<dyn Observer>,
    read: impl FnOnce(&mut JoinSet<Result<(), TransferError>>, Chunks<M>),
) -> Result<Counts, TransferError> {
    let (chunks, taken) = mpsc::channel(CHUNKS_WAITING);
    let mut reading = JoinSet::new();
    read(&mut reading, chunks);
    // It does not matter which client wrote the rows of a transfer.
    let assuming = UnknownOutcome::AssumeFromEqualContent;
    let table = table.clone().with_unknown_outcome(assuming);
    let upload = Upload {
        table: &table,
        options,
        sink: None,
        batches: Batches::default(),
        marks: Marks::default(),
        checkpoint: begun.checkpoint,
        observer: Arc::clone(observer),
        tasks: JoinSet::new(),
        counts: Counts::default(),
        failure: None,
        is_touched: begun.is_resumed,
    };
    let counts = upload.run(taken).await?;
    ended(&mut reading).await.map(|()| counts)
}

/// The state of a running import or copy.
struct Upload<'a, M> {
    table: &'a TableClient,
    options: &'a WriteOptions,
    /// `None` until the first rows have been read.
    sink: Option<Arc<Sink>>,
    batches: Batches,
    marks: Marks<M>,
    checkpoint: Checkpoint<M>,
    observer: Arc<dyn Observer>,
    tasks: JoinSet<Result<Written, TransferError>>,
    counts: Counts,
    failure: Option<TransferError>,
    /// Whether this run, or an earlier run that it resumes, may have written a row.
    is_touched: bool,
}

impl<M: Serialize + DeserializeOwned + Send + 'static> Upload<'_, M> {
    /// Writes all chunks. After a failure, no new write begins; when the running writes have ended, the last mark is
    /// saved, and the failure is returned.
    async fn run(
        mut self,
        mut chunks: mpsc::Receiver<Result<Chunk<M>, TransferError>>,
    ) -> Result<Counts, TransferError> {
        let mut is_ended = false;
        loop {
            self.start_writes(is_ended);
            if self.observer.is_stopped() {
                self.failure.get_or_insert(TransferError::Stopped);
            }
            let wants_more = !is_ended && self.failure.is_none() && !self.batches.is_full();
            if self.tasks.is_empty() && !wants_more {
                break;
            }
            tokio::select! {
                chunk = chunks.recv(), if wants_more => match chunk {
                    Some(Err(error)) => self.failure = Some(error),
                    chunk => {
                        is_ended = chunk.is_none();
                        match self.open().await {
                            Ok(()) => self.take(chunk.transpose()?).await?,
                            Err(error) => self.failure = Some(error),
                        }
                    }
                },
                Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    self.end_write(joined(ended)).await?;
                }
            }
        }
        if let Some(failure) = self.failure {
            if self.is_touched {
                self.checkpoint.flush().await?;
            } else {
                // Nothing was written, so there is nothing to resume.
                self.checkpoint.end().await?;
            }
            return Err(failure);
        }
        assert!(
            self.batches.is_empty() && self.marks.is_empty(),
            "all chunks are written"
        );
        self.checkpoint.end().await?;
        Ok(self.counts)
    }

    /// Opens the sink, if it is not open yet.
    async fn open(&mut self) -> Result<(), TransferError> {
        if self.sink.is_none() {
            let sink = Sink::open(self.table, self.options, self.is_touched).await?;
            self.sink = Some(Arc::new(sink));
        }
        Ok(())
    }

    /// Starts writes, as many as may run at the same time, unless one has failed.
    fn start_writes(&mut self, is_ended: bool) {
        let jobs = self.options.jobs.max(1);
        while let Some(sink) = &self.sink
            && self.failure.is_none()
            && self.tasks.len() < jobs
            && let Some(batch) = self.batches.next(is_ended)
        {
            let sink = Arc::clone(sink);
            self.tasks.spawn(async move { sink.write(batch).await });
        }
    }

    /// Takes the rows of a chunk; `None` at the end.
    async fn take(&mut self, chunk: Option<Chunk<M>>) -> Result<(), TransferError> {
        let Some(Chunk { rows, mark }) = chunk else {
            return Ok(());
        };
        let (count, bytes) = (rows.len() as u64, rows.iter().map(entity_bytes).sum());
        self.observer.event(&Event::Read { rows: count, bytes });
        self.counts.rows_read += count;
        self.counts.bytes += bytes;
        let id = self.marks.begin(rows.len(), mark);
        self.batches.add(rows, id);
        // A chunk without rows needs no write, so its mark is reached at once.
        self.advance().await
    }

    async fn end_write(
        &mut self,
        ended: Result<Written, TransferError>,
    ) -> Result<(), TransferError> {
        let done = match ended {
            Ok(written) => {
                self.is_touched = true;
                written
            }
            // Only the first failure is reported; later ones usually have the same cause.
            Err(error) => {
                self.is_touched |= error.may_have_happened();
                self.failure.get_or_insert(error);
                return Ok(());
            }
        };
        let (written, skipped, receipt) = (done.written, done.skipped, done.receipt);
        self.counts.rows_changed += done.changed;
        self.counts.rows_written += written;
        self.counts.rows_skipped += skipped;
        self.counts.writes += 1;
        let bytes = receipt.row_bytes;
        if written > 0 {
            self.observer.event(&Event::Written {
                rows: written,
                bytes,
            });
        }
        if skipped > 0 {
            self.observer.event(&Event::Skipped { rows: skipped });
        }
        for &(chunk, rows) in &receipt.chunks {
            self.marks.written(chunk, rows);
        }
        self.batches.done(&receipt);
        // Counts all rows, even if this write does not complete a chunk.
        self.checkpoint.written(written + skipped);
        self.advance().await
    }

    async fn advance(&mut self) -> Result<(), TransferError> {
        match self.marks.reached() {
            Some(mark) => self.checkpoint.reached(mark).await,
            None => Ok(()),
        }
    }
}
