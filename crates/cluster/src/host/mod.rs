//! A host: opens ranges, serves them, and changes them.
//!
//! The controller decides, the host executes: only the host accesses open databases. [`LocalHost`] is the host of this
//! process. The arguments and results of the trait are plain values, so that hosts can be in other processes.

mod local;

use crate::balance::SplitPoint;
use crate::coordinator::Assignment;
use crate::error::{ChangeRefused, HostError};
use crate::map::{ChangeRecord, MapRecord, RangeSpec};
use async_trait::async_trait;
use bytes::Bytes;
use partita_engine::{ChangeError, FileUse, KeyPart, PinId, Pinned};
use partita_heat::Window;
use partita_range::{Bounds, RangeId};
use std::time::Duration;

#[cfg(any(test, feature = "test-world"))]
pub(crate) use local::CREATE_MAX;
pub use local::{
    HandOverError, LocalHost, LocalHostParts, Permission, TakeOverStep, TakeOverTimes,
};

/// The files of the ranges that are served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServedFiles {
    /// The files, once for each range that reads them.
    pub files: Vec<FileUse>,
    /// The servers of the cluster that did not answer: files that only they read are missing.
    pub silent: Vec<String>,
}

/// A host. Used as `Arc<dyn Host>`.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// Opens the databases of these ranges and serves them, once the coordinator has activated each assignment. Not
    /// cancel safe.
    ///
    /// # Errors
    /// [`HostError::Open`], [`HostError::NotActivated`]; some of the ranges may be open.
    async fn open(&self, assignments: Vec<Assignment>) -> Result<(), HostError>;

    /// Closes all ranges: later requests are refused, batches already submitted are finished first.
    async fn close(&self);

    /// Brings ranges together on one server, for a merge. Does nothing in a process that has all ranges. Not cancel safe:
    /// an abandoned move may still take place.
    ///
    /// # Errors
    /// [`ChangeRefused`]; some of the ranges may have been moved.
    async fn gather(&self, _ranges: &[RangeId]) -> Result<(), ChangeRefused> {
        Ok(())
    }

    /// For each range, the number of other databases that cannot be deleted because the range reads their files or
    /// recently did.
    ///
    /// # Errors
    /// [`ChangeRefused::NoSuchRange`].
    async fn survey(&self, ranges: &[RangeId]) -> Result<Vec<u64>, ChangeRefused>;

    /// The start of the partition nearest the middle of a range's bytes.
    ///
    /// # Errors
    /// [`ChangeRefused::NoSplitKey`], [`ChangeRefused::NoSuchRange`], [`ChangeRefused::Failed`].
    async fn split_key(&self, range: RangeId) -> Result<Bytes, ChangeRefused>;

    /// Splits or merges ranges, after the record that begins the change was stored. The host stores `decision`, the
    /// record with the new ranges: that is the point of no return. Returns how long writes waited. Not cancel safe.
    ///
    /// # Errors
    /// [`ChangeFailed`]: the decision is not stored, and the old ranges accept writes again.
    async fn change(
        &self,
        change: &RangeChange,
        decision: &MapRecord,
    ) -> Result<Duration, ChangeFailed>;

    /// Pins these ranges at one point between two commit groups, for a snapshot. Writes wait for a few milliseconds,
    /// less after a [`RangeAction::FlushMost`]. Not cancel safe: an abandoned pin may still be created.
    ///
    /// # Errors
    /// [`ChangeError`]; some of the ranges may be pinned, now or later.
    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError>;

    /// Releases a pin of a served or replaced range. Succeeds if the pin does not exist.
    ///
    /// # Errors
    /// [`ChangeError`]; can be retried.
    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError>;

    /// The files of the served ranges, once for each range that reads them.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn files(&self) -> Result<ServedFiles, ChangeError>;

    /// Performs an action on a range.
    ///
    /// # Errors
    /// [`HostError`].
    async fn act(&self, range: RangeId, action: RangeAction) -> Result<(), HostError>;

    /// Drops the WAL records of ranges that this host does not serve. Call it only after all ranges are open.
    async fn drop_unknown(&self);

    /// Those of `ranges` that no host has open, and whose files nothing reads. Advisory: the removal checks again.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError>;
}

/// An action on a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeAction {
    /// Write rows that are only in the WAL to files.
    Flush,
    /// Flush repeatedly, until a flush is short, while clients write.
    FlushMost,
    /// Start to copy the files that it shares with other databases. Returns immediately.
    Detach,
    /// Delete files that nothing reads.
    Collect,
    /// Refuse writes for this long, like a change. Reads continue.
    Freeze(Duration),
}

/// A split or merge, with the ids of its ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeChange {
    /// The change as stored in record N+1.
    pub record: ChangeRecord,
    /// The replaced ranges, in key order.
    pub old: Vec<RangeId>,
    /// The new ranges, in key order.
    pub new: Vec<NewRange>,
}

/// A range that a change creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRange {
    /// Its id, epoch and keys.
    pub spec: RangeSpec,
    /// The parts of old databases that its database is cloned from.
    pub parts: Vec<KeyPart>,
}

/// Why a host did not complete a change.
#[derive(Debug, Clone)]
pub struct ChangeFailed {
    /// The failure.
    pub why: ChangeRefused,
    /// The state of the new databases.
    pub leftover: Leftover,
}

/// The state of the databases that a failed change created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// Closed; they can be deleted now.
    Closed,
    /// The store is slow and may still be creating them: maintenance deletes them later.
    Unfinished,
}

/// The content of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportDetail {
    /// Windows and sizes.
    Windows,
    /// Also the split point by load, which costs up to a millisecond per range.
    SplitPoints,
}

/// The load of the ranges of a host since the last report.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostReport {
    /// The ranges served now, in key order.
    pub(crate) ranges: Vec<RangeReport>,
    /// Ranges that were replaced since the last report.
    pub(crate) replaced: Vec<ReplacedReport>,
}

/// The load of a range.
#[derive(Debug, Clone)]
pub(crate) struct RangeReport {
    /// The id of the range.
    pub(crate) id: RangeId,
    /// Its keys.
    pub(crate) bounds: Bounds,
    /// Requests and latencies.
    pub(crate) window: Window,
    /// The bytes of its files.
    pub(crate) bytes: u64,
    /// Whether it is still copying files that it shares with other databases.
    pub(crate) detaching: bool,
    /// The key at which a split would divide its load, if the report contains split points.
    pub(crate) split_point: SplitPoint,
}

/// The load of a range before it was replaced.
#[derive(Debug, Clone)]
pub(crate) struct ReplacedReport {
    /// Its keys.
    pub(crate) bounds: Bounds,
    /// Requests and latencies.
    pub(crate) window: Window,
}
