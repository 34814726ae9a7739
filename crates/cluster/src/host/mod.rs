//! A host: opens ranges, serves them, and changes them.
//!
//! The controller decides, the host acts: only the host touches open databases. [`LocalHost`] is the host of this process. The trait
//! also serves hosts in other processes: its arguments and results are plain values.

mod local;

use crate::balance::SplitPoint;
use crate::coordinator::{Assignment, RangeSpec};
use crate::error::{ChangeRefused, HostError};
use crate::map::{ChangeRecord, MapRecord};
use async_trait::async_trait;
use bytes::Bytes;
use partita_engine::{ChangeError, FileUse, KeyPart, PinId, Pinned};
use partita_heat::Window;
use partita_range::{Bounds, RangeId};
use std::time::{Duration, Instant};

#[cfg(any(test, feature = "test-world"))]
pub(crate) use local::CREATE_MAX;
pub use local::{LocalHost, LocalHostParts};

/// What the controller asks of a host. Used as `Arc<dyn Host>`.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// Opens the databases of these ranges and serves them, once the coordinator has activated each assignment. Not cancel safe.
    ///
    /// # Errors
    /// [`HostError::Open`], [`HostError::NotActivated`]; some of the ranges may be open.
    async fn open(&self, assignments: Vec<Assignment>) -> Result<(), HostError>;

    /// Closes all ranges: later requests are refused, batches already submitted are finished first.
    async fn close(&self);

    /// How many other databases each range keeps from being deleted, because it shares their files or did until recently.
    ///
    /// # Errors
    /// [`ChangeRefused::NoSuchRange`].
    async fn survey(&self, ranges: &[RangeId]) -> Result<Vec<u64>, ChangeRefused>;

    /// The start of the partition nearest the middle of a range's bytes.
    ///
    /// # Errors
    /// [`ChangeRefused::NoSplitKey`], [`ChangeRefused::NoSuchRange`], [`ChangeRefused::Failed`].
    async fn split_key(&self, range: RangeId) -> Result<Bytes, ChangeRefused>;

    /// Splits or merges ranges, once the record that begins the change is stored. The host stores `decision`, the record with the
    /// new ranges: that is the point of no return. Returns how long writes waited. Not cancel safe.
    ///
    /// # Errors
    /// [`ChangeFailed`]: the decision is not stored, the old ranges take writes again.
    async fn change(
        &self,
        change: &RangeChange,
        decision: &MapRecord,
    ) -> Result<Duration, ChangeFailed>;

    /// Pins these ranges at one point between two commit groups, for a snapshot. Writes wait for some milliseconds;
    /// [`RangeAction::FlushMost`] before makes them wait less. Over several hosts the same call needs a round before it in which
    /// all of them hold their writes. Not cancel safe: a pin that was begun may come to exist.
    ///
    /// # Errors
    /// [`ChangeError`]; some of the ranges may be pinned, or become so.
    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError>;

    /// Releases a pin, of a range that is served or was replaced. A pin that is absent is no error.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError>;

    /// The files that the served ranges read, once for each range that reads them.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn files(&self) -> Result<Vec<FileUse>, ChangeError>;

    /// Does one thing to a range.
    ///
    /// # Errors
    /// [`HostError`].
    async fn act(&self, range: RangeId, action: RangeAction) -> Result<(), HostError>;

    /// Gives up what the log holds of ranges that are not served here. Not to be called before all ranges are open.
    async fn drop_unknown(&self);

    /// Closes the heat window of every range at `now`, and reports what the ranges did in it.
    fn report(&self, now: Instant, detail: ReportDetail) -> HostReport;
}

/// What can be done to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeAction {
    /// Move what is only in the log into files.
    Flush,
    /// The same, repeated until the next flush is short, while writes go on.
    FlushMost,
    /// Begin to copy the files it shares with other databases. Returns at once.
    Detach,
    /// Delete files that nothing reads.
    Collect,
    /// Refuse writes for this long, as a change would. Reads go on.
    Freeze(Duration),
}

/// A split or merge, with the ids it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeChange {
    /// What was recorded when it was begun.
    pub record: ChangeRecord,
    /// The ranges it replaces, in key order.
    pub old: Vec<RangeId>,
    /// The ranges in their place, in key order.
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
    /// Why.
    pub why: ChangeRefused,
    /// What is left of the new databases.
    pub leftover: Leftover,
}

/// What a failed change leaves of the databases it began to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// They are closed and can be deleted now.
    Closed,
    /// A request to the store may still be under way, and the store is slow: maintenance deletes them later.
    Unfinished,
}

/// How much a report contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportDetail {
    /// Windows and sizes.
    Windows,
    /// Also where each range could be split by load, which costs up to a millisecond a range.
    SplitPoints,
}

/// What the ranges of a host did since the last report.
#[derive(Debug, Clone, Default)]
pub struct HostReport {
    /// The ranges served now, in key order.
    pub ranges: Vec<RangeReport>,
    /// Ranges that were replaced since.
    pub replaced: Vec<ReplacedReport>,
}

/// What a range did.
#[derive(Debug, Clone)]
pub struct RangeReport {
    /// Which range.
    pub id: RangeId,
    /// Its keys.
    pub bounds: Bounds,
    /// Requests and latencies.
    pub window: Window,
    /// Its bytes in files.
    pub bytes: u64,
    /// Whether it is still copying files that it shares with other databases.
    pub detaching: bool,
    /// Where a split would divide its load; unknown unless the report was asked for it.
    pub split_point: SplitPoint,
}

/// What a range did before it was replaced.
#[derive(Debug, Clone)]
pub struct ReplacedReport {
    /// Its keys.
    pub bounds: Bounds,
    /// Requests and latencies.
    pub window: Window,
}
