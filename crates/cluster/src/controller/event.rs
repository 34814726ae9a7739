//! The events that the controller reacts to.

use crate::balance::Observed;
use crate::error::ChangeRefused;
use crate::host::ChangeFailed;
use crate::map::{MapError, MapRecord};
use bytes::Bytes;
use partita_range::RangeId;
use std::fmt;
use std::time::{Duration, Instant};

/// Identifies a request, with everything that is done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JobId(pub(crate) u64);

impl JobId {
    /// The start, which is the first job.
    pub(crate) const START: Self = Self(0);
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A request to the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    Change(ChangeRequest),
    /// Refuse the writes of a range for this long.
    Freeze {
        range: RangeId,
        time: Duration,
    },
    /// Block all changes of ranges until [`Event::Released`].
    LockChanges,
    /// Delete unneeded databases: those of replaced ranges, and those that no record names.
    DeleteReplaced,
    /// Release pins that no snapshot names, if that is due.
    ReleasePins,
}

/// A requested change of ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangeRequest {
    /// Split a range at a key, or in the middle of its bytes.
    Split { range: RangeId, at: Option<Bytes> },
    /// Merge two neighbours.
    Merge { left: RangeId, right: RangeId },
}

/// The result of removing databases. Those that are not gone still have readers, or the store failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    pub(crate) gone: Vec<RangeId>,
    /// The store was too slow; the rest was not tried.
    pub(crate) late: bool,
}

impl Removed {
    /// Those of the databases that are not gone.
    pub(super) fn left_of(&self, databases: Vec<RangeId>) -> Vec<RangeId> {
        let left = databases.into_iter();
        left.filter(|id| !self.gone.contains(id)).collect()
    }
}

/// An event: a request, or the result of an action.
#[derive(Debug)]
pub(crate) enum Event {
    /// The first event: the newest stored record, and the databases in the store.
    Found {
        record: Option<MapRecord>,
        databases: Vec<RangeId>,
    },
    Asked(JobId, Request),
    /// The holder of [`Request::LockChanges`] is done.
    Released(JobId),
    /// A task of a job ended.
    TaskEnded(JobId, TaskResult),
    /// An action of a job panicked.
    Broken(JobId),
    /// A snapshot failed halfway: there may be pins that no record names.
    PinsSuspected,
    /// The load of the ranges in the last window.
    Observed {
        now: Instant,
        ranges: Vec<Observed>,
    },
    /// The balancer's request is over.
    Balanced {
        now: Instant,
        result: Result<(), ChangeRefused>,
    },
}

/// The result of a [`Task`](super::Task).
#[derive(Debug)]
pub(crate) enum TaskResult {
    /// The ranges are open.
    Opened,
    /// A record is stored, or is not.
    Saved(Result<(), MapError>),
    /// For each range the number of databases that it keeps from being deleted.
    Surveyed(Result<Vec<u64>, ChangeRefused>),
    /// The middle of a range.
    SplitKeyFound(Result<Bytes, ChangeRefused>),
    /// Ranges were flushed.
    Flushed(Result<(), ChangeRefused>),
    /// A change is decided after this long in transit, or failed.
    Changed(Result<Duration, ChangeFailed>),
    /// A frozen range takes writes again.
    Thawed(Result<(), ChangeRefused>),
    /// Databases were removed.
    Removed(Removed),
    /// The databases in the store; `None` if listing them failed.
    Listed(Option<Vec<RangeId>>),
    /// Databases whose files nothing reads; `None` if finding them failed.
    Removable(Option<Vec<RangeId>>),
    /// Untracked pins were released, all or some.
    PinsReleased { complete: bool },
}
