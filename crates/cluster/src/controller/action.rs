//! What the controller wants done.

use super::JobId;
use crate::balance::BalanceAction;
use crate::coordinator::RangeSpec;
use crate::error::{ChangeRefused, StartError};
use crate::host::RangeChange;
use crate::map::MapRecord;
use bytes::Bytes;
use partita_range::RangeId;
use std::time::Duration;

/// A range was split.
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

/// Two ranges were merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The range in their place.
    pub into: RangeId,
    /// How long writes waited.
    pub transit: Duration,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Split(Split),
    Merged(Merged),
    /// Anything else.
    Done,
}

/// An action. Those with a job are answered by an event, unless they say otherwise.
#[derive(Debug)]
pub(crate) enum Action {
    /// Assign these ranges and have them opened. Answered by `Opened`; a failure ends the start.
    Open { ranges: Vec<RangeSpec> },
    /// The start is over. No answer.
    Started(Result<(), StartError>),
    /// Store a record. Answered by `Saved`.
    Save {
        job: JobId,
        record: MapRecord,
        reason: SaveReason,
    },
    /// Find out how much these ranges share with other databases. Answered by `Surveyed`.
    Survey { job: JobId, ranges: Vec<RangeId> },
    /// Find the middle of a range. Answered by `SplitKeyFound`.
    FindSplitKey { job: JobId, range: RangeId },
    /// Flush these ranges while writes go on. Answered by `Flushed`.
    Flush { job: JobId, ranges: Vec<RangeId> },
    /// Have the host make a change and decide it with this record. Answered by `Changed`.
    Change {
        job: JobId,
        change: RangeChange,
        decision: MapRecord,
    },
    /// Tell the coordinator of a decided change. No answer.
    Replace {
        old: Vec<RangeId>,
        new: Vec<RangeSpec>,
    },
    /// Have a range copy the files it shares with others. No answer.
    Detach { range: RangeId },
    /// Have a range refuse writes for a time. Answered by `Thawed`.
    Freeze {
        job: JobId,
        range: RangeId,
        time: Duration,
    },
    /// Look into, or delete from, the store as a whole. Answered as [`StoreAction`] says.
    Store { job: JobId, action: StoreAction },
    /// The job holds the change lock until it says `Released`. No other answer.
    GrantLock { job: JobId },
    /// Ask for what the balancer decided. Answered by `Balanced`.
    Balance(BalanceAction),
    /// The job is over. No answer.
    Answer {
        job: JobId,
        answer: Result<Outcome, ChangeRefused>,
    },
}

/// What is done to the databases and pins of the store, whichever host has them open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreAction {
    /// Remove databases. Answered by `Removed`.
    Remove(Vec<RangeId>),
    /// Remove databases that a failed change created, and give up what the log holds of those that stay. Answered by `Removed`.
    RemoveNew(Vec<RangeId>),
    /// List the databases. Answered by `Listed`.
    ListDatabases,
    /// Find out which of these databases nothing reads. Answered by `Removable`.
    FindRemovable(Vec<RangeId>),
    /// Release pins that no snapshot names. Answered by `PinsReleased`.
    ReleasePins,
}

/// Why a record is stored: what its failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaveReason {
    /// The first record, or one that settles what a start found.
    Start,
    /// A change begins.
    Begin,
    /// A change was rolled back.
    RollBack,
    /// Databases were deleted.
    Deletion,
}
