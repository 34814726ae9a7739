//! The interface between a commit loop and its WAL.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use futures::future::{BoxFuture, Either, Ready};

use crate::{
    AppendError, OpenWalError, RangeId, Record, RecordHeader, RecordSize, RecordSizes, RoomError,
    RowRef, SharedLogs, WalId,
};

/// A future that an implementation may return completed, without an allocation or a thread switch.
pub type WalFuture<'w, T> = Either<Ready<T>, BoxFuture<'w, T>>;

/// The storage of a WAL. Used as `Arc<dyn WalStorage>`.
pub trait WalStorage: Send + Sync + 'static {
    /// Opens the WAL, creates an empty one if it is missing, and fences the previously opened WAL, which can no longer
    /// append.
    ///
    /// # Errors
    /// See [`OpenWalError`].
    fn open(&self, resume: Resume) -> BoxFuture<'_, Result<Arc<dyn Wal>, OpenWalError>>;

    /// Begins another log for this process, in a storage that several processes use, and returns its WAL. From then on the
    /// present log is that of another process. The caller adds nothing more to its WAL, and no range needs its records.
    ///
    /// # Errors
    /// See [`OpenWalError`]; also if this process uses the storage alone. The present log stays the own one.
    fn begin_another(&self) -> BoxFuture<'_, Result<Arc<dyn Wal>, OpenWalError>> {
        let refused = io::Error::from(io::ErrorKind::Unsupported);
        Box::pin(std::future::ready(Err(refused.into())))
    }

    /// Bytes of the groups that were appended to this storage, with their headers and padding, by every WAL that this
    /// process opened on it. Does not count the preparation of empty segments.
    fn written_bytes(&self) -> u64;

    /// The logs of all processes, if several use this storage at the same time, each with a WAL of its own.
    fn shared_logs(&self) -> Option<&dyn SharedLogs> {
        None
    }
}

/// What happened before the WAL is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The process started. The recovered records are durable.
    AfterStop,
    /// An append failed in this process. The last group may be readable without being durable. So the caller must make
    /// the rows of recovered records durable elsewhere before it serves reads.
    AfterFailure,
}

/// A file of an open WAL that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedFile {
    /// Its number in the order of [`Wal::verify_next`].
    pub number: u64,
    /// Its name.
    pub name: String,
    /// The bytes that were read.
    pub bytes: u64,
    /// What is wrong with the file; `None` also after a read failure that may be temporary.
    pub problem: Option<String>,
}

/// An open WAL of many ranges. Used as `Arc<dyn Wal>`.
///
/// # A group
/// One task at a time writes groups: [`Wal::make_room`], then [`Wal::add`] once for each range, then
/// [`Wal::append_group`]. The other methods may be called at any time.
///
/// # Guarantees of every WAL
/// - **Durability.** [`Wal::append_group`] returns `Ok` only after the group would survive a crash. A record is read
///   back whole or not at all.
/// - **Order.** Of unacknowledged groups, at most the last one is read back, and only if all groups before it are.
/// - **Failure.** A failed append *poisons* the WAL: it accepts no more records, because the outcome of the group is
///   unknown. Reopening the WAL shows the outcome.
/// - **Room.** After [`Wal::make_room`] the next group does not run out of space.
/// - **Retention.** A record is kept until its range has released it.
/// - **No silent loss.** Damage before an acknowledged record is an error when the WAL is opened, and so is a missing
///   part that may hold acknowledged records.
pub trait Wal: Send + Sync + 'static {
    /// Whether this open created the WAL.
    fn is_new(&self) -> bool;

    /// Returns and forgets the records of `range` that the WAL held when it was opened, in order and without a gap. If
    /// the first one does not follow the flushed records, the caller has found a loss. A second call returns an empty
    /// list.
    fn take_recovered(&self, range: RangeId) -> VecDeque<Record>;

    /// The ranges whose recovered records were not taken yet, in ascending order.
    fn recovered_ranges(&self) -> Vec<RangeId>;

    /// Reserves space for the next group, whose records are at most as large as `records`. Writes no record. A local
    /// WAL blocks the thread.
    fn make_room(&self, records: RecordSizes<'_>) -> WalFuture<'_, Result<(), RoomError>>;

    /// Adds a record to the group. The rows are copied; `size` is exact. Writes nothing yet. A refused record leaves
    /// the group unchanged.
    ///
    /// # Errors
    /// See [`AppendError`].
    fn add(
        &self,
        header: RecordHeader,
        size: RecordSize,
        rows: &mut dyn Iterator<Item = RowRef<'_>>,
    ) -> Result<(), AppendError>;

    /// Appends the group and completes when it is durable. A group without records completes immediately. A local WAL
    /// blocks the thread instead of suspending the caller. Not cancel safe: a group whose append was dropped may be
    /// durable or not.
    fn append_group(&self) -> WalFuture<'_, Result<(), AppendError>>;

    /// Makes sure that no other process has sealed the log, which may go unnoticed while nothing is appended. Appends a group
    /// without records, unless the last group is recent. A log that no other process can seal needs nothing. Not cancel
    /// safe.
    ///
    /// # Errors
    /// The WAL is poisoned: the log is sealed, or the store failed.
    fn prove(&self) -> BoxFuture<'_, Result<(), AppendError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The last record of `range` that was appended or recovered.
    fn last_of(&self, range: RangeId) -> Option<WalId>;

    /// Releases the records of `range` up to `wal_id`. With `u64::MAX`, records that are appended later are released
    /// too. Cheap.
    fn release(&self, range: RangeId, wal_id: WalId);

    /// Releases the records of all ranges except `known`, and drops their recovered records.
    fn retain(&self, known: &BTreeSet<RangeId>);

    /// Whether `range`, which has just written, should flush all its rows, because its records after `flushing_up_to`
    /// pin too much of the WAL. `flushing_up_to` is the last record that its running flush includes. The caller must
    /// flush when this returns `true`.
    fn is_due(&self, range: RangeId, flushing_up_to: WalId) -> bool;

    /// Ranges that pin much of the WAL, are not flushing, and write too rarely for [`Wal::is_due`] to flush them in
    /// time.
    fn stragglers(&self) -> Vec<RangeId>;

    /// The length of the WAL as a share of the length at which it [is backlogged](Wal::is_backlogged).
    fn fullness(&self) -> f64;

    /// Whether the WAL is so long that no group should be appended before some range has flushed.
    fn is_backlogged(&self) -> bool {
        self.fullness() >= 1.0
    }

    /// Bytes that a start would have to read.
    fn live_bytes(&self) -> u64;

    /// Bytes of all segments, also of those that are released or prepared for later groups. Cheap.
    fn segment_bytes(&self) -> u64;

    /// Whether [`Wal::maintain`] should run soon, so that later groups do not wait. The call resets the flag.
    fn wants_maintenance(&self) -> bool;

    /// Removes or recycles released segments, and prepares space for later groups. Can run while groups are written.
    ///
    /// # Errors
    /// Space could not be prepared, so later groups may take longer.
    fn maintain(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Records how far the WAL was written, before a clean stop. Opening the WAL then fails if an unreleased record up
    /// to that point is missing. Not needed for durability.
    ///
    /// # Errors
    /// The storage failed, or the WAL is poisoned.
    fn record_end(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Reads a file that the WAL needs and no longer changes, past all caches of this crate, and checks its checksums:
    /// the first file after number `after`, or the first of all. `None` after the last one. Files that are released
    /// meanwhile are not damaged. A WAL without files has none.
    fn verify_next(&self, _after: Option<u64>) -> BoxFuture<'_, Option<VerifiedFile>> {
        Box::pin(std::future::ready(None))
    }

    /// Refuses every further record and append.
    fn poison(&self);
}
