//! The jobs that need the change lock, and the phase of the job that holds it.

use super::ChangeRequest;
use crate::error::ChangeRefused;
use crate::host::RangeChange;
use crate::map::MapRecord;
use partita_range::RangeId;
use std::time::Duration;

/// A job that needs the lock.
#[derive(Debug)]
pub(super) enum Exclusive {
    Change(ChangeRequest),
    Freeze {
        range: RangeId,
        time: Duration,
    },
    /// The caller of a [`Request::LockChanges`](super::event::Request::LockChanges), which uses the lock outside of the
    /// controller.
    Guest,
    /// Roll back a change whose rollback could not be recorded.
    RollBack,
    Delete(Vec<RangeId>),
    ReleasePins,
}

/// The task that the holder of the lock waits for.
#[derive(Debug)]
pub(super) enum Phase {
    /// The start removes unneeded databases before it opens the ranges.
    RemovingAtStart {
        databases: Vec<RangeId>,
    },
    /// The start opens the ranges.
    Opening,
    /// A change counts the databases that cannot be deleted because of its ranges.
    Surveying {
        request: ChangeRequest,
        ranges: Vec<RangeId>,
    },
    FindingSplitKey {
        range: RangeId,
    },
    Flushing(RangeChange),
    Changing {
        change: RangeChange,
        decision: MapRecord,
    },
    /// Removing the databases of a failed change.
    RemovingNew {
        databases: Vec<RangeId>,
        then: Then,
    },
    Saving {
        record: MapRecord,
        after: AfterSave,
    },
    Freezing,
    Guest,
    Deleting,
    ReleasingPins,
}

/// How a job continues after a save, whether the record was stored or not.
#[derive(Debug)]
pub(super) enum AfterSave {
    /// Open the ranges; if the record was not stored, the start fails.
    Open,
    /// Carry out the change that the record begins; if the record was not stored, the change is refused.
    Change(RangeChange),
    /// Continue after a rollback.
    RolledBack(Then),
    /// Continue the deletion round that deleted the databases.
    Deleted { late: bool },
}

/// How a job continues after a rollback.
#[derive(Debug)]
pub(super) enum Then {
    /// Refuse the change that failed.
    Refuse(ChangeRefused),
    /// Begin the change that had to wait for the rollback of an earlier change.
    Change(RangeChange),
    /// Continue the deletion round that found the unfinished change.
    Round,
}
