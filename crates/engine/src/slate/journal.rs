//! Where a group becomes durable before it is answered: SlateDB's log, kept by our own [`Log`].
//!
//! SlateDB hands each batch to [`LogWriter::append`], which returns after the sync. So a batch is durable before it is
//! readable, nothing is ever buffered, and a flush of the log has nothing to do. To SlateDB each record is a WAL file of
//! its own. All databases of the process write to one log, and those that write in one group share its sync.
//!
//! Fencing: the data directory's lock leaves only databases of this process, and the supervisor poisons the log of an old
//! database before it opens the next one.

use std::collections::{BTreeSet, VecDeque};
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

use super::gathering::Gathering;
use crate::{RangeId, Refusal};
use partita_wal::local::{Log, Record, WalId};

/// How many segments, or as long ones, may hold records that the store's files do not have yet. More, and a start would take too long and
/// memory would be full of unflushed rows; so a group waits for a flush.
pub(super) const LIVE_SEGMENTS_MAX: u64 = 10;

/// How long a group waits for a flush before it is refused.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

/// After so many full segments the rows in memory are flushed even if they are few: small groups take a sector at least.
const SEGMENTS_BEFORE_FLUSH: usize = 3;

/// Bytes of rows that a replay hands over at once.
const REPLAY_BYTES: usize = 1 << 20;

/// The log of the process, as the commit loop, the supervisor and the databases see it.
#[derive(Clone)]
pub(super) struct Journal {
    log: Arc<Log>,
    gathering: Arc<Gathering>,
    /// Segments were given up.
    released: Arc<Notify>,
    /// The commit loop would like spare segments.
    rolled: Arc<Notify>,
    /// The first spare segments were asked for.
    asked: Arc<AtomicBool>,
}

impl Journal {
    pub(super) fn new(log: Log) -> Self {
        let log = Arc::new(log);
        let (released, rolled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        Self {
            gathering: Arc::new(Gathering::new(Arc::clone(&log))),
            log,
            released,
            rolled,
            asked: Arc::default(),
        }
    }

    /// What the database of `range` needs to write to this log, and to replay `records`, which are its own.
    /// `is_known` says that it was opened or made since the log was.
    pub(super) fn writer_init(
        &self,
        range: RangeId,
        records: VecDeque<Record>,
        is_known: bool,
    ) -> Box<dyn WriterInit> {
        Box::new(LogInit {
            is_known,
            log: Arc::clone(&self.log),
            gathering: Arc::clone(&self.gathering),
            range,
            records: Mutex::new(Some(records)),
        })
    }

    /// Makes sure that a group of at most so many bytes of records can be written, or says why not. Nothing is written. Waits
    /// while too much is not flushed.
    pub(super) async fn make_room(&self, bytes: u64) -> Result<(), Refusal> {
        if self.is_backlogged() {
            self.wait_for_flush().await?;
        }
        if self.log.wants_spares() && !self.asked.swap(true, Ordering::Relaxed) {
            self.rolled.notify_one();
        }
        let live = self.log.live_count();
        let made = self.log.make_room(bytes);
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
        self.log.is_as_long_as(LIVE_SEGMENTS_MAX)
    }

    /// Begins a group in which these ranges write, all at once; see [`Gathering`].
    pub(super) fn begin(&self, ranges: impl Iterator<Item = RangeId>) {
        self.gathering.begin(ranges);
    }

    /// Writes the batch of a range in the group and returns once it is durable and readable.
    pub(super) async fn write(
        &self,
        range: RangeId,
        db: &Db,
        batch: WriteBatch,
    ) -> Result<(), slatedb::Error> {
        let written = async {
            let handle = db
                .write_with_options(batch, &WriteOptions::default())
                .await?;
            // The log returned after its sync, so this does not wait.
            handle.await_durable().await
        };
        let written = written.await;
        if written.is_err() {
            self.gathering.leave(range);
        }
        written
    }

    /// Gives up what the store's files have, by range up to these records, and makes spare segments. Blocking.
    pub(super) fn tidy(&self, flushed: &[(RangeId, WalId)]) -> std::io::Result<()> {
        for (range, wal_id) in flushed {
            self.release(*range, *wal_id);
        }
        self.log.prepare()
    }

    /// Gives up the records of all ranges but these. Blocking.
    pub(super) fn drop_unknown(&self, ranges: impl Iterator<Item = RangeId>) {
        let known: BTreeSet<RangeId> = ranges.collect();
        for range in self.log.ranges().difference(&known) {
            self.forget(*range);
        }
    }

    /// Gives up the records of a range that the store's files have. Blocking.
    pub(super) fn release(&self, range: RangeId, flushed: WalId) {
        self.log.release(range, flushed);
        self.released.notify_one();
    }

    /// Gives up the records of a range that is gone and never comes back. Blocking.
    pub(super) fn forget(&self, range: RangeId) {
        self.release(range, WalId(u64::MAX));
    }

    /// Ranges that keep many segments from being given up and will not see to it themselves.
    pub(super) fn stragglers(&self) -> Vec<RangeId> {
        self.log.stragglers(SEGMENTS_BEFORE_FLUSH)
    }

    /// Whether the log has no record of `range` behind `wal_id`.
    pub(super) fn is_settled(&self, range: RangeId, wal_id: WalId) -> bool {
        self.log.last_of(range).is_none_or(|last| last <= wal_id)
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
    gathering: Arc<Gathering>,
    range: RangeId,
    is_known: bool,
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
        if self.log.is_new() && !self.is_known && manifest.epoch() > 1 {
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
        // Opened twice in one life, and written to in the first: its rows would be lost.
        if self
            .log
            .last_of(self.range)
            .is_some_and(|there| there > last)
        {
            return Err(broken("the log has records that were not replayed"));
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
        let (log, gathering) = (Arc::clone(&self.log), Arc::clone(&self.gathering));
        let range = self.range;
        Ok(WriterInitResult {
            replay_iterator: Box::new(Replay {
                records,
                last: flushed,
            }),
            wal_writer: Box::new(LogWriter {
                log,
                gathering,
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
    gathering: Arc<Gathering>,
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
    async fn append(&mut self, rows: &[RowEntry]) -> Result<(), WalError> {
        let Some(seq) = rows.first().map(|row| row.seq) else {
            return Ok(());
        };
        let wal_id = WalId(self.last.0 + 1);
        let appended = self.gathering.append(self.range, wal_id, seq, rows).await;
        if let Err(error) = appended {
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
        self.log.is_due(
            self.range,
            WalId(replay_after_wal_id),
            SEGMENTS_BEFORE_FLUSH,
        )
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
