//! The interface to all databases of a process.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::future::BoxFuture;

use crate::error::NotShared;
use crate::{
    ChangeError, DamagedFile, Engine, FileUse, Health, HeldRanges, KeyRange, LogNumber, Meter,
    OpenError, PinId, Pinned, PinnedRows, RangeId, ScrubPass, Stats, StoredRanges,
};

/// A part of a database, to be cloned into another database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// The range that has the rows.
    pub source: RangeId,
    /// The keys. Bounds include the start and exclude the end.
    pub range: KeyRange,
}

/// The databases of a process, one for each range. They share one write-ahead log (WAL), one commit loop and one cache.
/// Used as `Arc<dyn EngineSet>`.
///
/// [`EngineSet::open`] creates an empty database, [`EngineSet::clone_parts`] clones parts of other databases. A clone
/// shares the files of its sources until [`Engine::detach`] has copied its rows.
///
/// # A shared store
/// Several processes can use one object store at the same time, each with its own WAL, its *log*. Then a range has one
/// owner at a time, which the callers decide, and moves from process to process:
///
/// ```text
///  clean:  old owner: stop writes, hand_over ──▶ new owner: take_over without logs
///  death:  new owner: take_over with the log of the old owner ──▶ later, when no range needs that log: collect_logs
/// ```
///
/// [`EngineSet::log`] tells whether the store is shared. If it is not, the other methods of this kind fail.
/// [`EngineSet::open`] is for ranges that no other process has served since they were cloned or closed here.
#[async_trait]
pub trait EngineSet: Send + Sync + 'static {
    /// Opens the database of a range; creates an empty one if it is missing. A range is open at most once. Cancel safe
    /// for a range that was cloned in this process: after a cancel it is closed, and can be removed.
    ///
    /// # Errors
    /// See [`OpenError`].
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError>;

    /// The log of this process, if the store is shared; `None` for a store that belongs to one process.
    fn log(&self) -> Option<LogNumber> {
        None
    }

    /// Begins a new log for this process, which has no open range: for a process whose log others may seal from now on,
    /// because they have taken over its ranges or count it as dead.
    ///
    /// # Errors
    /// [`ChangeError`]; [`ChangeError::State`] names an open range. The log stays the same.
    async fn renew_log(&self) -> Result<(), ChangeError> {
        Err(ChangeError::Store(Arc::new(NotShared)))
    }

    /// The logs of the store that may have records which are not in the files of the databases: all that were not
    /// collected, sealed or not, in ascending order. The own log is one of them.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn uncollected_logs(&self) -> Result<Vec<LogNumber>, ChangeError> {
        Err(ChangeError::Store(Arc::new(NotShared)))
    }

    /// Opens the database of a range that another process may have served; creates an empty one if it is missing. Seals
    /// `logs`, so that their processes acknowledge nothing more, replays the records of the range in them, and writes
    /// the rows to files before this returns: after that the range needs only the log of this process. The own log is
    /// ignored. A log is read once for several ranges that are taken over at about the same time.
    ///
    /// `is_assigned` says whether the range is still assigned to this process. It is awaited once, after the state of the
    /// database was read and before its last owner is locked out. If another process has opened the database since that
    /// reading, this fails, and locks out no one: so a process that was stopped in between does no harm.
    ///
    /// The caller names each log that may have unflushed records of the range: that of its last owner, unless it handed
    /// the range over, and those that the last owner needed and had not replayed. Too many logs do no harm. After an
    /// error or a cancel the range still needs `logs`.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::NotAssigned`]. A record that is neither in the files nor in `logs` is an error.
    async fn take_over(
        &self,
        range: RangeId,
        logs: &[LogNumber],
        is_assigned: BoxFuture<'_, bool>,
    ) -> Result<Arc<dyn Engine>, OpenError> {
        let _ = (range, logs, is_assigned);
        Err(OpenError::Store(Arc::new(NotShared)))
    }

    /// Flushes and closes the database of a range, so that its next owner has no log to replay. Batches that were
    /// submitted before are finished; later ones are refused. After an error the range is closed too, but its next owner
    /// needs the log of this process. A range that is not open is an error.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn hand_over(&self, range: RangeId) -> Result<(), ChangeError> {
        let _ = range;
        Err(ChangeError::Store(Arc::new(NotShared)))
    }

    /// Seals logs of dead processes: if one of them is alive after all, it acknowledges nothing more. The own log is
    /// ignored, and so is a log that was collected.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn seal_logs(&self, logs: &[LogNumber]) -> Result<(), ChangeError> {
        let _ = logs;
        Err(ChangeError::Store(Arc::new(NotShared)))
    }

    /// Deletes the groups of logs of dead processes, of which the caller knows that no range needs them. A log that is
    /// not sealed is sealed first. The own log is ignored, and so is a log that was collected.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn collect_logs(&self, logs: &[LogNumber]) -> Result<(), ChangeError> {
        let _ = logs;
        Err(ChangeError::Store(Arc::new(NotShared)))
    }

    /// Declares that only the open ranges exist: releases the WAL records of all other ranges. Does nothing in a shared
    /// store, where the WAL has only ranges of this process.
    async fn drop_unknown(&self);

    /// Clones parts of databases that are open here into a new database for `target`. The parts are in key order and do not overlap.
    /// Copies no rows. The clone has every batch that its sources acknowledged before the call; batches written during
    /// the call may be missing. The sources do not change. Several clones may run at the same time. Not cancel safe: an
    /// unfinished clone is removed by [`EngineSet::remove`], or finished by another call.
    ///
    /// # Errors
    /// [`ChangeError`]; an unfinished target may exist.
    async fn clone_parts(&self, target: RangeId, parts: &[KeyPart]) -> Result<(), ChangeError>;

    /// Removes the database of a range that is not open, unless a clone or a pin still reads its files. A durable
    /// database goes to the trash, from which [`EngineSet::sweep_trash`] deletes it later. A missing database is not an
    /// error. In a shared store the readers of all processes count, but the caller makes sure that no process has the
    /// database open, and that no process is cloning it.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError>;

    /// Returns those of `ranges` that are not open here and whose files no clone and no pin reads. Advisory, because a new
    /// clone may start at any time; [`EngineSet::remove`] decides. Reads every manifest at most twice, for any number
    /// of ranges.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError>;

    /// Deletes the removed databases that have been in the trash long enough. In a shared store one process at a time does
    /// it.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn sweep_trash(&self) -> Result<(), ChangeError>;

    /// The databases, the WAL records and the trash of all ranges. Reads one manifest of each database; call it before
    /// any is open.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn stored(&self) -> Result<StoredRanges, ChangeError>;

    /// The ranges that have a database, whole or in part, in ascending order.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn list(&self) -> Result<Vec<RangeId>, ChangeError>;

    /// Pins the current rows of these ranges, which are open here, all at one point between two commit groups. A batch is in the pins
    /// as a whole or not at all. If a batch is in the pins, all batches that were acknowledged before it was submitted
    /// are too. Copies no rows. Delays writes by some milliseconds; an [`Engine::flush`] before the call makes the rest
    /// of the call short. The pins last until [`EngineSet::unpin`], also across restarts, and also when their ranges
    /// are split, merged or removed. Not cancel safe: some pins may exist after a cancel.
    ///
    /// # Errors
    /// [`ChangeError`]; some of the pins may exist, now or later: [`EngineSet::pins`] shows them.
    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError>;

    /// Holds all writes of this process between two commit groups: no batch becomes durable, and none is acknowledged,
    /// until the returned value pins `ranges`, which are open here, or is dropped. Reads continue. Several processes that
    /// are held at one instant, and then pinned, have pins of that instant: if a batch is in the pin of one, all batches
    /// that any of them acknowledged before it was submitted are in their pins.
    ///
    /// A durable engine continues the writes after `limit` in any case, and does not pin after that. An [`Engine::flush`]
    /// before the call makes the pin short. Cancel safe.
    ///
    /// # Errors
    /// [`ChangeError`]; nothing is held.
    async fn hold(
        &self,
        ranges: &[RangeId],
        limit: Duration,
    ) -> Result<Box<dyn HeldRanges>, ChangeError> {
        let _ = (ranges, limit);
        Err(ChangeError::Store(Arc::new(NotShared)))
    }

    /// The pins of a range, open or closed, also of one that another process serves; empty if the database is missing.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError>;

    /// Releases a pin, also of a range that another process serves. A missing pin is not an error.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError>;

    /// Opens the rows that a range had when it was pinned, also if another process serves it or it was replaced since. The
    /// files stay until the pin is released.
    ///
    /// # Errors
    /// [`ChangeError::NotPinned`], [`ChangeError::Store`].
    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError>;

    /// The files that a pin reads; without a pin, the files that the newest manifest of the range names, also if another
    /// process serves it. Empty for engines without files.
    ///
    /// # Errors
    /// [`ChangeError::NotPinned`], [`ChangeError::Store`].
    async fn files(&self, range: RangeId, pin: Option<&PinId>)
    -> Result<Vec<FileUse>, ChangeError>;

    /// A time later than the times of all rows that the open databases had when they were opened. A caller that stores
    /// times in its rows continues after this time, so that they never go back. Returns 1970 for an engine whose rows
    /// end with the process.
    fn newest_row_time(&self) -> SystemTime;

    /// Makes the times of all rows that are written from now on later than `time`, for a caller that copies rows with
    /// such a time: [`EngineSet::newest_row_time`] of a later process is then later than `time`, too. Engines whose rows
    /// end with the process do nothing.
    fn pass_time(&self, _time: SystemTime) {}

    /// How far the wall clock is behind the time of the newest row, because the clock was set back after that write.
    /// Zero below one second. Cheap.
    fn wall_clock_lag(&self) -> Duration;

    /// Counts since the process began, over all ranges. Takes some microseconds.
    fn stats(&self) -> Stats;

    /// Whether reads and writes are served now. Cheap.
    fn health(&self) -> Health;

    /// Completes when another server has taken over the store, and says which. In a shared store it also completes after a
    /// failed write of the WAL or of a database, and says what failed: the process does not open its databases again.
    /// From then on the health is [`Health::Fenced`]: nothing is served, and nothing is acknowledged. The caller closes
    /// the engine set. Never completes for an engine whose store no other process can open. Cancel safe.
    async fn fenced(&self) -> Arc<str> {
        std::future::pending().await
    }

    /// Files of open ranges that a read or a scrub found damaged or missing, at most 100. A file leaves the list when
    /// it was replaced, when its range no longer reads it, or when its range is closed or reopened. Empty for engines
    /// without files.
    fn damaged_files(&self) -> Vec<DamagedFile> {
        Vec::new()
    }

    /// Reads all files of the open databases, and the head and the full segments of the WAL, without the caches, and
    /// verifies their checksums. A damaged file of a database is then in [`EngineSet::damaged_files`]. Takes long:
    /// `meter` counts the bytes, and limits their rate. Cancel safe. Engines without files read nothing.
    async fn scrub(&self, _meter: Arc<dyn Meter>) -> ScrubPass {
        ScrubPass::default()
    }

    /// Closes all databases: finishes the submitted batches, refuses later calls, stops background work. Idempotent.
    async fn close(&self);
}

/// The outcome of [`EngineSet::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The database was removed, or did not exist.
    Gone,
    /// A clone or a pin still reads its files.
    Needed,
}
