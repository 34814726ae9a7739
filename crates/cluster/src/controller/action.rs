//! The actions that the controller decides on.

use super::JobId;
use crate::balance::BalanceAction;
use crate::coordinator::RangeSpec;
use crate::error::{ChangeRefused, StartError};
use crate::host::RangeChange;
use crate::map::MapRecord;
use bytes::Bytes;
use partita_range::RangeId;
use std::time::Duration;

/// The result of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The range before the key.
    pub left: RangeId,
    /// The range from the key on.
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
    /// Any other request is done.
    Done,
}

/// An action.
#[derive(Debug)]
pub(crate) enum Action {
    /// Run a task of a job. Its result is the next event.
    Run(JobId, Task),
    /// The job holds the change lock until its `Released`.
    GrantLock(JobId),
    /// The job is over.
    Answer(JobId, Result<Outcome, ChangeRefused>),
    /// The start is over.
    Started(Result<(), StartError>),
    /// Report a decided change to the coordinator.
    Replace {
        old: Vec<RangeId>,
        new: Vec<RangeSpec>,
    },
    /// Have a range copy the files that it shares with others.
    Detach(RangeId),
    /// Request the balancer's decision. `Balanced` follows.
    Balance(BalanceAction),
}

/// A task of a job, with the [`TaskResult`](super::TaskResult) that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Assign these ranges and have them opened. `Opened`; a failure ends the start.
    Open(Vec<RangeSpec>),
    /// Store a record. `Saved`.
    Save(MapRecord, SaveReason),
    /// Count the databases that each range keeps from being deleted. `Surveyed`.
    Survey(Vec<RangeId>),
    /// Find the middle of a range. `SplitKeyFound`.
    FindSplitKey(RangeId),
    /// Flush these ranges while writes go on. `Flushed`.
    Flush(Vec<RangeId>),
    /// Have the host make a change and decide it with this record. `Changed`.
    Change(RangeChange, MapRecord),
    /// Have a range refuse writes for a time. `Thawed`.
    Freeze(RangeId, Duration),
    /// Remove databases. `Removed`.
    Remove(Vec<RangeId>),
    /// Remove the databases of a failed change, and drop the log records of those that stay. `Removed`.
    RemoveNew(Vec<RangeId>),
    /// List the databases. `Listed`.
    ListDatabases,
    /// Find those of the databases whose files nothing reads. `Removable`.
    FindRemovable(Vec<RangeId>),
    /// Release pins that no snapshot names. `PinsReleased`.
    ReleasePins,
}

/// Why a record is stored; decides how a failure is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaveReason {
    /// The first record, or the rollback of a change that a start found.
    Start,
    /// A change begins.
    Begin,
    /// A change was rolled back.
    RollBack,
    /// Databases were deleted.
    Deletion,
}
