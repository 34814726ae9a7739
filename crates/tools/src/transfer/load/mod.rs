//! Rows into a table: what import and copy have in common.
//!
//! ```text
//! chunks of rows, each with a mark ─▶ batches by partition ─▶ writes, so many at a time ─▶ marks of what is written
//! ```
//!
//! Promises:
//! - rows waiting are bounded by [`batches`]'s limits and a chunk;
//! - two rows of one key are written one after the other, in their order;
//! - a mark is reached when all rows before it are written, whatever the order in which writes end.

mod batches;
mod marks;
mod write;

use super::blocking::joined;
use super::observer::{Counts, Event, Observer};
use super::state::Checkpoint;
use super::{TransferError, size};
pub(crate) use batches::BATCH_BYTES_MAX;
use batches::Batches;
use marks::Marks;
use partita_client::{Entity, ErrorCode, TableClient};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
pub(crate) use write::Writer;
use write::Written;

/// Chunks that wait to be taken.
pub(super) const CHUNKS_WAITING: usize = 2;

/// What happens to a row that is there already, and to properties that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It is an error.
    #[default]
    Insert,
    /// It gets the properties; its others stay.
    Merge,
    /// It gets the properties; its others go.
    Replace,
    /// It stays as it is.
    SkipExisting,
}

/// How rows are written.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// What happens to rows that are there already.
    pub mode: Mode,
    /// Writes at the same time, at least 1.
    pub jobs: usize,
    /// Whether the table is made if it is not there.
    pub create_table: bool,
    /// Where to keep how far it is; none to start from the beginning if it is stopped. The file goes when all is done.
    pub state: Option<PathBuf>,
    /// Whether to go on from the state. Without a state file it begins.
    pub resume: bool,
    /// Rows after which the state is written anew: each time costs a file that is synced, and what was written behind the state
    /// is written again when it is resumed.
    pub rows_between_marks: u64,
    /// Whether only to count.
    pub dry_run: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            jobs: 8,
            create_table: true,
            state: None,
            resume: false,
            rows_between_marks: 20_000,
            dry_run: false,
        }
    }
}

/// Rows, and where their source stands behind them.
pub(super) struct Chunk<M> {
    pub(super) rows: Vec<Entity>,
    pub(super) mark: M,
}

/// Chunks on their way, or why there are no more.
pub(super) type Chunks<M> = mpsc::Receiver<Result<Chunk<M>, TransferError>>;

impl LoadOptions {
    /// Makes the table, if that is wanted.
    pub(super) async fn prepare(&self, table: &TableClient) -> Result<(), TransferError> {
        if self.dry_run || !self.create_table {
            return Ok(());
        }
        match table.create().await {
            Err(error) if error.code() != Some(ErrorCode::TableAlreadyExists) => {
                Err(TransferError::Create(Box::new(error)))
            }
            _ => Ok(()),
        }
    }
}

/// Writes of rows under way.
pub(super) struct Load<M> {
    writer: Arc<Writer>,
    jobs: usize,
    batches: Batches,
    marks: Marks<M>,
    checkpoint: Checkpoint<M>,
    observer: Arc<dyn Observer>,
    tasks: JoinSet<Result<Written, TransferError>>,
    counts: Counts,
    failure: Option<TransferError>,
    /// Whether some row may have been written, now or by a run before.
    is_touched: bool,
}

impl<M: Serialize + DeserializeOwned + Send + 'static> Load<M> {
    pub(super) fn new(
        table: &TableClient,
        options: &LoadOptions,
        checkpoint: Checkpoint<M>,
        is_resumed: bool,
        observer: &Arc<dyn Observer>,
    ) -> Self {
        Self {
            writer: Arc::new(Writer {
                table: (!options.dry_run).then(|| table.clone()),
                mode: options.mode,
                is_resumed,
            }),
            jobs: options.jobs.max(1),
            batches: Batches::default(),
            marks: Marks::default(),
            checkpoint,
            observer: Arc::clone(observer),
            tasks: JoinSet::new(),
            counts: Counts::default(),
            failure: None,
            is_touched: is_resumed,
        }
    }

    /// Writes all rows that come. After a failure no write is begun, those under way end, and the mark reached is kept.
    pub(super) async fn run(mut self, mut chunks: Chunks<M>) -> Result<Counts, TransferError> {
        let mut is_ended = false;
        loop {
            while self.failure.is_none() && self.tasks.len() < self.jobs {
                let Some(batch) = self.batches.next(is_ended) else {
                    break;
                };
                let writer = Arc::clone(&self.writer);
                self.tasks.spawn(async move { writer.write(batch).await });
            }
            if self.observer.is_stopped() {
                self.failure.get_or_insert(TransferError::Stopped);
            }
            let wants_more = !is_ended && self.failure.is_none() && !self.batches.is_full();
            if self.tasks.is_empty() && !wants_more {
                break;
            }
            tokio::select! {
                chunk = chunks.recv(), if wants_more => match chunk {
                    Some(Ok(chunk)) => self.take(chunk).await?,
                    Some(Err(error)) => self.failure = Some(error),
                    None => is_ended = true,
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
                // There is nothing to go on with.
                self.checkpoint.end().await?;
            }
            return Err(failure);
        }
        assert!(
            self.batches.is_empty() && self.marks.is_empty(),
            "all that came is written"
        );
        self.checkpoint.end().await?;
        Ok(self.counts)
    }

    async fn take(&mut self, chunk: Chunk<M>) -> Result<(), TransferError> {
        let Chunk { rows, mark } = chunk;
        let (count, bytes) = (rows.len() as u64, rows.iter().map(size::entity_bytes).sum());
        self.observer.event(&Event::Read { rows: count, bytes });
        self.counts.rows_read += count;
        self.counts.bytes += bytes;
        let id = self.marks.begin(rows.len(), mark);
        self.batches.add(rows, id);
        // Only a chunk without rows is done at once.
        self.advance().await
    }

    async fn end_write(
        &mut self,
        ended: Result<Written, TransferError>,
    ) -> Result<(), TransferError> {
        let Written {
            receipt,
            written,
            skipped,
        } = match ended {
            Ok(written) => {
                self.is_touched = true;
                written
            }
            // The first one counts; what follows is mostly its consequence.
            Err(error) => {
                self.is_touched |= error.may_have_happened();
                self.failure.get_or_insert(error);
                return Ok(());
            }
        };
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
        // Also those of a write that completes no mark: the next mark stands for them.
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
