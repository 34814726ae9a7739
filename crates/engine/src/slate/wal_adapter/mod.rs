//! SlateDB's WAL on top of a [`Wal`], which makes each group durable before its batches complete.
//!
//! SlateDB hands each batch to [`writer::RangeWriter`], which returns once the batch is durable. So a batch is durable
//! before it is readable, nothing is buffered, and a flush of the WAL is a no-op. For SlateDB each record is a separate
//! WAL file. All databases of the process write to one WAL, and the databases of one group share its sync.
//!
//! Fencing: only the most recently opened WAL of a storage can append, and the supervisor poisons the old WAL before it
//! opens the next one.

mod group_barrier;
mod init;
mod pace;
mod rows;
mod writer;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use partita_wal::{Record, RecordSize, Resume, RoomError, Wal, WalId};
use slatedb::config::WriteOptions;
use slatedb::wal::WriterInit;
use slatedb::{Db, WriteBatch};
use tokio::sync::Notify;

use self::group_barrier::GroupBarrier;
use self::init::RangeInit;
use self::pace::Pace;
use super::home::Home;
use crate::{OpenError, RangeId, Refusal};

pub(super) use self::init::ReplayNotes;

/// How long a group waits for a flush before it is refused.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

/// The WAL of the process, for the commit loop, the supervisor and the databases.
#[derive(Clone)]
pub(super) struct WalAdapter {
    pub(super) wal: Arc<dyn Wal>,
    barrier: Arc<GroupBarrier>,
    pace: Arc<Mutex<Pace>>,
    /// Notified when records were released.
    released: Arc<Notify>,
    /// Notified when the WAL needs maintenance.
    maintenance: Arc<Notify>,
}

impl WalAdapter {
    /// Opens the WAL, which keeps the records of each range until its database is opened.
    pub(super) async fn open(home: &Home, resume: Resume) -> Result<Self, OpenError> {
        Ok(Self::new(home.wal.open(resume).await?))
    }

    pub(super) fn new(wal: Arc<dyn Wal>) -> Self {
        Self {
            barrier: Arc::new(GroupBarrier::new(Arc::clone(&wal))),
            wal,
            pace: Arc::default(),
            released: Arc::default(),
            maintenance: Arc::default(),
        }
    }

    /// The parts that let the database of `range` write to this WAL and replay its records. `is_known`: the range was
    /// opened or cloned in this process. `taken_over`: the records of a range that is taken over from another process. The
    /// replay notes its rows in `notes`.
    pub(super) fn writer_init(
        &self,
        range: RangeId,
        is_known: bool,
        taken_over: Option<VecDeque<Record>>,
        notes: ReplayNotes,
    ) -> Box<dyn WriterInit> {
        Box::new(RangeInit {
            wal: Arc::clone(&self.wal),
            barrier: Arc::clone(&self.barrier),
            range,
            is_known,
            taken_over,
            notes,
        })
    }

    /// Reserves space for a group of at most these records. Writes nothing. While many bytes are unflushed, waits a moment
    /// ([`Pace`]); while too many are, waits for at most [`FLUSH_WAIT`], and then refuses.
    pub(super) async fn make_room(
        &self,
        mut records: impl Iterator<Item = RecordSize> + Clone,
    ) -> Result<(), Refusal> {
        let bytes = records.clone().map(|record| record.payload_bytes).sum();
        self.keep_pace(bytes).await;
        if self.is_backlogged() {
            self.wait_for_flush().await?;
        }
        let made = self.wal.make_room(&mut records).await;
        if self.wal.wants_maintenance() {
            self.maintenance.notify_one();
        }
        made.map_err(|error| match error {
            RoomError::Full => Refusal::DiskFull,
            RoomError::TooLarge => Refusal::TooLarge,
            RoomError::Io(error) => {
                tracing::error!(%error, "failed to extend the WAL");
                Refusal::DiskFull
            }
        })
    }

    async fn keep_pace(&self, bytes: usize) {
        let (fullness, live_bytes) = (self.wal.fullness(), self.wal.live_bytes());
        let now = Instant::now();
        let wait = self.pace.lock().wait(bytes, live_bytes, fullness, now);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
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

    /// Whether too many bytes are unflushed to accept another group.
    pub(super) fn is_backlogged(&self) -> bool {
        self.wal.is_backlogged()
    }

    /// Begins a group in which these ranges write at the same time; see [`GroupBarrier`].
    pub(super) fn begin_group(&self, ranges: impl Iterator<Item = RangeId>) {
        self.barrier.begin(ranges);
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
            // The WAL returned after its sync, so this does not wait.
            handle.await_durable().await
        };
        let written = written.await;
        if written.is_err() {
            self.barrier.leave(range).await;
        }
        written
    }

    /// Releases the flushed records, for each range up to the given record, and maintains the WAL.
    pub(super) async fn maintain(&self, flushed: &[(RangeId, WalId)]) -> std::io::Result<()> {
        for (range, wal_id) in flushed {
            self.wal.release(*range, *wal_id);
        }
        let maintained = self.wal.maintain().await;
        self.released.notify_one();
        maintained
    }

    /// Releases the records of all ranges except `known`.
    pub(super) fn retain(&self, known: impl Iterator<Item = RangeId>) {
        self.wal.retain(&known.collect::<BTreeSet<RangeId>>());
        self.notify_released();
    }

    /// Releases the flushed records of a range.
    pub(super) fn release(&self, range: RangeId, flushed: WalId) {
        self.wal.release(range, flushed);
        self.notify_released();
    }

    /// Releases all records of a removed range.
    pub(super) fn release_all(&self, range: RangeId) {
        self.release(range, WalId(u64::MAX));
    }

    fn notify_released(&self) {
        self.released.notify_one();
        self.maintenance.notify_one();
    }

    /// Whether the WAL has no record of `range` after `wal_id`.
    pub(super) fn is_flushed(&self, range: RangeId, wal_id: WalId) -> bool {
        self.wal.last_of(range).is_none_or(|last| last <= wal_id)
    }

    /// Waits until the WAL needs maintenance. Cancel safe.
    pub(super) async fn maintenance_wanted(&self) {
        self.maintenance.notified().await;
    }
}
