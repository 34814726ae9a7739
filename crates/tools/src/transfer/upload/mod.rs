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
use super::{TransferError, WriteOptions, size};
pub(crate) use batches::BATCH_BYTES_MAX;
use batches::Batches;
use marks::Marks;
use partita_client::{Entity, TableClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
pub(crate) use write::Writer;
use write::Written;

/// Chunks that wait to be taken.
pub(super) const CHUNKS_WAITING: usize = 2;

/// Rows, and where their source stands behind them.
pub(super) struct Chunk<M> {
    pub(super) rows: Vec<Entity>,
    pub(super) mark: M,
}

/// Chunks on their way, or why there are no more.
pub(super) type Chunks<M> = mpsc::Receiver<Result<Chunk<M>, TransferError>>;

/// Writes of rows under way.
pub(super) struct Upload<M> {
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

impl<M: Serialize + DeserializeOwned + Send + 'static> Upload<M> {
    pub(super) fn new(
        table: &TableClient,
        options: &WriteOptions,
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
