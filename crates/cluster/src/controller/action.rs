//! The actions that the controller decides on.

use super::JobId;
use crate::balance::BalanceAction;
use crate::error::{ChangeRefused, StartError};
use crate::host::RangeChange;
use crate::map::{MapRecord, RangeSpec};
use bytes::Bytes;
use partita_range::RangeId;
use std::time::Duration;

/// The result of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The range before the key.
    pub left: RangeId,
    /// The range that starts at the key.
    pub right: RangeId,
    /// The key: the start of a partition.
    pub at: Bytes,
    /// How long writes waited.
    pub transit: Duration,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The new range.
    pub into: RangeId,
    /// How long writes waited.
    pub transit: Duration,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Split(Split),
    Merged(Merged),
    /// The result of requests without a value.
    Done,
}

/// An action, which the driver carries out.
#[derive(Debug)]
pub(crate) enum Action {
    /// Run a task of a job. Its result is the next event.
    Run(JobId, Box<Task>),
    /// Give the change lock to the caller of `Request::LockChanges`. The job holds it until its `Event::Released`.
    GrantLock(JobId),
    /// The job ended.
    Answer(JobId, Result<Outcome, ChangeRefused>),
    /// The start ended.
    Started(Result<(), StartError>),
    /// Tell the coordinator the ranges of the newest record: a change was decided.
    Announce,
    /// Make a range copy the files that it shares with other databases.
    Detach(RangeId),
    /// Request the split or merge that the balancer decided on. The event `Balanced` has its result.
    Balance(BalanceAction),
}

/// A task of a job. The word in code font that ends each description is the [`TaskResult`](super::TaskResult) that the
/// task returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Assign and open these ranges; a failure ends the start. `Opened`.
    Open(Vec<RangeSpec>),
    /// Store a record. `Saved`.
    Save(MapRecord, SaveReason),
    /// Count the databases that cannot be deleted because of each range. `Surveyed`.
    Survey(Vec<RangeId>),
    /// Find the middle of a range. `SplitKeyFound`.
    FindSplitKey(RangeId),
    /// Flush these ranges while clients write. `Flushed`.
    Flush(Vec<RangeId>),
    /// Make the host carry out a change and decide it with this record. `Changed`.
    Change(RangeChange, MapRecord),
    /// Make a range refuse writes for this long. `Thawed`.
    Freeze(RangeId, Duration),
    /// Remove databases. `Removed`.
    Remove(Vec<RangeId>),
    /// Remove the databases of a failed change, and drop the WAL records of databases that cannot be removed.
    /// `Removed`.
    RemoveNew(Vec<RangeId>),
    /// List the databases. `Listed`.
    ListDatabases,
    /// Find the databases whose files nothing reads. `Removable`.
    FindRemovable(Vec<RangeId>),
    /// Release pins that are in no snapshot record. `PinsReleased`.
    ReleasePins,
}

/// Why a record is stored; selects the log message for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaveReason {
    /// A record of the start: the first one, the rollback of an interrupted change, pending deletions, or the same
    /// content in the current format.
    Start,
    /// A change begins.
    Begin,
    /// A change was rolled back.
    RollBack,
    /// Databases were deleted.
    Deletion,
}
