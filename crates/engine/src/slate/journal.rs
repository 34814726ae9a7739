//! Where a group becomes durable before it is answered: SlateDB's log, kept by our own [`Log`].
//!
//! SlateDB hands each batch to [`LogWriter::append`], which returns after the sync. So a batch is durable before it is
//! readable, nothing is ever buffered, and a flush of the log has nothing to do. To SlateDB each record is a WAL file of
//! its own.
//!
//! Fencing: the data directory's lock leaves only databases of this process, and the supervisor poisons the log of an old
//! database before it opens the next one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use parking_lot::Mutex;
use slatedb::config::WriteOptions;
use slatedb::wal::{
    WalError, WalEvent, WalFlushResult, WalIterator, WalObserver, WalRows, WalStatus,
    WalStatusListener, WalWriter, WriterInit, WriterInitResult, WriterManifest,
};
use slatedb::{Db, RowEntry, WriteBatch};
use tokio::sync::Notify;

use crate::Refusal;
use crate::log::{Log, RangeId, Record, WalId, record_bytes_max};

/// How many segments may hold records that the store's files do not have yet. More, and a start would take too long and
/// memory would be full of unflushed rows; so a group waits for a flush.
pub(super) const LIVE_SEGMENTS_MAX: u64 = 10;

/// How long a group waits for a flush before it is refused.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

/// After so many full segments the rows in memory are flushed even if they are few: small groups take a sector at least.
const SEGMENTS_BEFORE_FLUSH: usize = 3;

/// Bytes of rows that a replay hands over at once.
const REPLAY_BYTES: usize = 1 << 20;

/// The log of an open database, as the commit loop and the supervisor see it.
#[derive(Clone)]
pub(super) struct Journal {
    log: Arc<Log>,
    range: RangeId,
    /// Segments were given up.
    released: Arc<Notify>,
    /// The commit loop would like spare segments.
    rolled: Arc<Notify>,
    /// The first spare segments were asked for.
    asked: Arc<AtomicBool>,
}

impl Journal {
    pub(super) fn new(log: Log, range: RangeId) -> Self {
        let (released, rolled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        Self {
            log: Arc::new(log),
            range,
            released,
            rolled,
            asked: Arc::default(),
        }
    }

    /// What SlateDB needs to write to this log and to replay `records` of it.
    pub(super) fn writer_init(&self, records: Vec<Record>) -> Box<dyn WriterInit> {
        let records = records
            .into_iter()
            .filter(|record| record.range() == self.range)
            .collect();
        Box::new(LogInit {
            log: Arc::clone(&self.log),
            range: self.range,
            records: Mutex::new(Some(records)),
        })
    }

    /// Makes sure that a group of so many rows and bytes can be written, or says why not. Nothing is written. Waits while
    /// too much is not flushed.
    pub(super) async fn make_room(&self, rows: usize, bytes: usize) -> Result<(), Refusal> {
        if self.is_backlogged() {
            self.wait_for_flush().await?;
        }
        if self.log.wants_spares() && !self.asked.swap(true, Ordering::Relaxed) {
            self.rolled.notify_one();
        }
        let live = self.log.live_count();
        let made = self.log.make_room(record_bytes_max(rows, bytes));
        if self.log.live_count() != live {
            self.rolled.notify_one();
        }
        made.map_err(|error| match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Refusal::DiskFull
            }
            std::io::ErrorKind::InvalidInput => Refusal::TooLarge,
            _ => {
                tracing::error!(%error, "a segment of the log was not made");
                Refusal::DiskFull
            }
        })
    }

    async fn wait_for_flush(&self) -> Result<(), Refusal> {
        let flushed = async {
            while self.is_backlogged() {
                self.released.notified().await;
            }
        };
        tokio::time::timeout(FLUSH_WAIT, flushed)
            .await
            .map_err(|_elapsed| Refusal::Busy)
    }

    /// Whether so much is not flushed that no group can be written.
    pub(super) fn is_backlogged(&self) -> bool {
        self.log.live_count() >= LIVE_SEGMENTS_MAX
    }

    /// Writes `batch` and returns once it is durable and readable.
    pub(super) async fn write(&self, db: &Db, batch: WriteBatch) -> Result<(), slatedb::Error> {
        let handle = db
            .write_with_options(batch, &WriteOptions::default())
            .await?;
        // The log returned after its sync, so this does not wait.
        handle.await_durable().await
    }

    /// Gives up what the store's files have up to `wal_id`, and makes spare segments. Blocking.
    pub(super) fn tidy(&self, wal_id: WalId) -> std::io::Result<()> {
        self.log.release(self.range, wal_id);
        self.released.notify_one();
        self.log.prepare()
    }

    /// Waits until the log went on to another segment, or will soon. Cancel safe.
    pub(super) async fn rolled(&self) {
        self.rolled.notified().await;
    }

    /// Bytes that a start would have to read.
    pub(super) fn live_bytes(&self) -> u64 {
        self.log.live_bytes()
    }

    /// Refuses whatever its database still tries to write.
    pub(super) fn retire(&self) {
        self.log.poison();
    }
}

/// Gives SlateDB its writer and what it must replay.
struct LogInit {
    log: Arc<Log>,
    range: RangeId,
    /// Taken by the one call there is.
    records: Mutex<Option<VecDeque<Record>>>,
}

#[async_trait]
impl WriterInit for LogInit {
    async fn fence_and_init(
        &self,
        manifest: &mut WriterManifest,
    ) -> Result<WriterInitResult, WalError> {
        let mut records = self
            .records
            .lock()
            .take()
            .ok_or_else(|| broken("the log is initialised twice"))?;
        // The log is made before the database is, so only a database that is opened for the first time may have a new one.
        if self.log.is_new() && manifest.epoch() > 1 {
            return Err(broken("the log is missing"));
        }
        let flushed = WalId(manifest.replay_after_wal_id());
        records.retain(|record| record.wal_id() > flushed);
        let mut last = flushed;
        for record in &records {
            if record.wal_id().0 != last.0 + 1 {
                return Err(broken(
                    "records that the store's files do not have are missing in the log",
                ));
            }
            last = record.wal_id();
        }
        let status = Arc::new(Status {
            wal: Mutex::new(WalStatus {
                closed_reason: None,
                estimated_bytes: 0,
                last_flushed_wal_id: last.0,
                last_flushed_seq: None,
                buffered_wal_entries_count: 0,
            }),
            listeners: Mutex::default(),
        });
        let (log, range) = (Arc::clone(&self.log), self.range);
        Ok(WriterInitResult {
            replay_iterator: Box::new(Replay {
                records,
                last: flushed,
            }),
            wal_writer: Box::new(LogWriter {
                log,
                range,
                last,
                status,
            }),
        })
    }
}

/// The records beyond the store's files, in order.
struct Replay {
    records: VecDeque<Record>,
    last: WalId,
}

#[async_trait]
impl WalIterator for Replay {
    async fn next(&mut self) -> Result<Option<WalRows>, WalError> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        while bytes < REPLAY_BYTES
            && let Some(record) = self.records.pop_front()
        {
            bytes += record.bytes();
            self.last = record.wal_id();
            rows.extend(
                record
                    .rows()
                    .ok_or_else(|| broken("a record of the log has no rows"))?,
            );
        }
        let last_consumed_wal_file_id = self.last.0;
        Ok((!rows.is_empty()).then_some(WalRows {
            rows,
            last_consumed_wal_file_id,
        }))
    }
}

/// SlateDB's side of the log.
struct LogWriter {
    log: Arc<Log>,
    range: RangeId,
    last: WalId,
    status: Arc<Status>,
}

struct Status {
    wal: Mutex<WalStatus>,
    listeners: Mutex<Vec<WalStatusListener>>,
}

impl Status {
    fn read(&self) -> Result<WalStatus, WalStatus> {
        let status = self.wal.lock().clone();
        if status.closed_reason.is_none() {
            Ok(status)
        } else {
            Err(status)
        }
    }

    /// Changes the status and tells everybody.
    fn change(&self, change: impl FnOnce(&mut WalStatus)) {
        let status = {
            let mut status = self.wal.lock();
            change(&mut status);
            status.clone()
        };
        let closed = status.closed_reason.is_some();
        for listener in self.listeners.lock().iter() {
            let status = status.clone();
            listener(if closed {
                WalEvent::WalClosed(status)
            } else {
                WalEvent::WalFlushed(status)
            });
        }
    }

    fn close(&self, reason: WalError) {
        self.change(|status| {
            status.closed_reason.get_or_insert(reason);
        });
    }
}

#[async_trait]
impl WalWriter for LogWriter {
    /// Blocks the commit thread for the write and the sync: nothing else runs there that could go on meanwhile.
    async fn append(&mut self, rows: &[RowEntry]) -> Result<(), WalError> {
        let Some(seq) = rows.first().map(|row| row.seq) else {
            return Ok(());
        };
        let wal_id = WalId(self.last.0 + 1);
        if let Err(error) = self.log.append(self.range, wal_id, seq, rows) {
            let error = WalError::Unavailable(Arc::new(error));
            self.status.close(error.clone());
            return Err(error);
        }
        self.last = wal_id;
        self.status.change(|status| {
            status.last_flushed_wal_id = wal_id.0;
            status.last_flushed_seq = Some(seq);
        });
        Ok(())
    }

    async fn flush(&mut self) -> Result<WalFlushResult, WalError> {
        self.status.read()?;
        let completion = std::future::ready(Ok(())).boxed();
        Ok(WalFlushResult {
            wal_id: self.last.0,
            completion,
        })
    }

    fn should_flush_memtable(&self, replay_after_wal_id: u64) -> bool {
        self.log
            .sealed_beyond(self.range, WalId(replay_after_wal_id))
            >= SEGMENTS_BEFORE_FLUSH
    }

    fn observer(&self) -> Box<dyn WalObserver> {
        Box::new(Observer(Arc::clone(&self.status)))
    }

    fn status(&self) -> Result<WalStatus, WalStatus> {
        self.status.read()
    }

    async fn close(&mut self) -> Result<(), WalError> {
        self.status.close(WalError::Closed);
        Ok(())
    }
}

struct Observer(Arc<Status>);

#[async_trait]
impl WalObserver for Observer {
    fn status(&self) -> Result<WalStatus, WalStatus> {
        self.0.read()
    }

    fn subscribe(&self, listener: WalStatusListener) -> Result<(), WalError> {
        self.0.listeners.lock().push(listener);
        Ok(())
    }
}

fn broken(what: &'static str) -> WalError {
    WalError::DataError(Arc::new(std::io::Error::new(
        std::io::ErrorKind::InvalidData,
        what,
    )))
}
