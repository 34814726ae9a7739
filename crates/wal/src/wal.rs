//! The seam between a commit loop and its WAL.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use futures::future::{BoxFuture, Either, Ready};

use crate::{
    AppendError, OpenWalError, RangeId, Record, RecordHeader, RecordSize, RoomError, RowRef, WalId,
};

/// A future that an implementation may complete before it returns: then nothing is allocated and no thread is changed.
pub type WalFuture<'w, T> = Either<Ready<T>, BoxFuture<'w, T>>;

/// The place of a WAL. Used as `Arc<dyn WalStorage>`.
pub trait WalStorage: Send + Sync + 'static {
    /// Opens the WAL, made empty when there is none, and fences the one that was opened before: that one can append no more.
    ///
    /// # Errors
    /// See [`OpenWalError`].
    fn open(&self, resume: Resume) -> BoxFuture<'_, Result<Arc<dyn Wal>, OpenWalError>>;
}

/// What happened before the WAL is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The process started. The recovered records are durable.
    AfterStop,
    /// An append failed in this process. The last group may be readable without being durable, so the caller must make the rows of
    /// recovered records durable elsewhere before it shows them.
    AfterFailure,
}

/// An open WAL of many ranges. Used as `Arc<dyn Wal>`.
///
/// # A group
/// One task at a time writes groups: [`Wal::make_room`], then [`Wal::add`] once for each range, then [`Wal::append_group`]. The other
/// methods may be called at any time.
///
/// # What every WAL promises
/// - **Durability.** [`Wal::append_group`] returns `Ok` only after the group would survive a crash. A record is read back whole or
///   not at all.
/// - **Order.** Of groups that were not acknowledged at most the last one is read back, and only together with all before it.
/// - **Failure.** A failed append *poisons* the WAL: it takes no more records, because the outcome of the group is unknown. Opening
///   the WAL again shows the outcome.
/// - **Room.** After [`Wal::make_room`] the group that follows does not run out of space.
/// - **Retention.** A record is kept until its range has released it.
/// - **No silent loss.** Damage before an acknowledged record is an error when the WAL is opened.
pub trait Wal: Send + Sync + 'static {
    /// Whether there was no WAL before this one.
    fn is_new(&self) -> bool;

    /// Takes the records of `range` that the WAL held when it was opened, in order. The second call returns none.
    fn take_recovered(&self, range: RangeId) -> VecDeque<Record>;

    /// Reserves space for the next group, whose records are at most as large as these. Writes no record. A local WAL blocks the thread.
    fn make_room(
        &self,
        records: &mut dyn Iterator<Item = RecordSize>,
    ) -> WalFuture<'_, Result<(), RoomError>>;

    /// Adds a record to the group. The rows are copied; `size` is exact. Writes nothing yet. A record that was refused leaves the
    /// group unchanged.
    ///
    /// # Errors
    /// See [`AppendError`].
    fn add(
        &self,
        header: RecordHeader,
        size: RecordSize,
        rows: &mut dyn Iterator<Item = RowRef<'_>>,
    ) -> Result<(), AppendError>;

    /// Appends the group and completes when it is durable. A group without records is durable at once. A local WAL blocks the
    /// thread instead of suspending the caller. Not cancel safe: a group whose append was dropped may be durable or not.
    fn append_group(&self) -> WalFuture<'_, Result<(), AppendError>>;

    /// The last record of `range` that was appended or recovered.
    fn last_of(&self, range: RangeId) -> Option<WalId>;

    /// Releases the records of `range` up to `wal_id`; `u64::MAX` releases later ones too. Cheap.
    fn release(&self, range: RangeId, wal_id: WalId);

    /// Releases the records of all ranges except `known`, and drops their recovered records.
    fn retain(&self, known: &BTreeSet<RangeId>);

    /// Whether `range` should flush all its rows. It has just written, and its running flush ends at the record `flushing_up_to`: records
    /// after that one keep too much of the WAL. The caller must flush when this returns `true`.
    fn is_due(&self, range: RangeId, flushing_up_to: WalId) -> bool;

    /// Ranges that keep much of the WAL, are not flushing, and write too seldom for [`Wal::is_due`] to flush them in time.
    fn stragglers(&self) -> Vec<RangeId>;

    /// Whether the WAL is so long that no group should be appended before some range has flushed.
    fn is_backlogged(&self) -> bool;

    /// Bytes that a start would have to read.
    fn live_bytes(&self) -> u64;

    /// Whether [`Wal::maintain`] should run soon, so that the next groups need not wait. Reading it resets it.
    fn wants_maintenance(&self) -> bool;

    /// Removes or recycles released segments, and prepares space for later groups. Runs beside groups.
    ///
    /// # Errors
    /// Space could not be prepared, so later groups may take longer.
    fn maintain(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Refuses every further record and append.
    fn poison(&self);
}
