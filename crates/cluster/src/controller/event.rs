//! The events that the controller reacts to.

use crate::balance::Observed;
use crate::error::ChangeRefused;
use crate::host::ChangeFailed;
use crate::map::{MapError, MapRecord};
use bytes::Bytes;
use partita_range::RangeId;
use std::fmt;
use std::time::{Duration, Instant};

/// Identifies a request and all its actions and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JobId(pub(crate) u64);

impl JobId {
    /// The job of the startup.
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
    /// Delete unneeded databases: databases of replaced ranges, and databases in no record.
    DeleteReplaced,
    /// Release pins that are in no snapshot record, if due.
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

/// The result of removing databases. A database remains if its files still have readers, or if the store failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    pub(crate) gone: Vec<RangeId>,
    /// The store was too slow; the remaining databases were not tried.
    pub(crate) late: bool,
}

impl Removed {
    /// Those of `databases` that were not removed.
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
    /// The holder of [`Request::LockChanges`] released the lock.
    Released(JobId),
    /// A task of a job ended.
    TaskEnded(JobId, TaskResult),
    /// An action of a job panicked.
    Broken(JobId),
    /// A snapshot failed: pins may exist that are in no record.
    PinsSuspected,
    /// The load of the ranges in the last window, and how many servers take ranges.
    Observed {
        now: Instant,
        ranges: Vec<Observed>,
        servers: usize,
    },
    /// The balancer's request ended.
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
    /// Whether a record was stored.
    Saved(Result<(), MapError>),
    /// For each range, the number of databases that cannot be deleted because of it.
    Surveyed(Result<Vec<u64>, ChangeRefused>),
    /// The middle of a range.
    SplitKeyFound(Result<Bytes, ChangeRefused>),
    /// Ranges were flushed.
    Flushed(Result<(), ChangeRefused>),
    /// The change was decided, with its time in transit, or failed.
    Changed(Result<Duration, ChangeFailed>),
    /// A frozen range accepts writes again.
    Thawed(Result<(), ChangeRefused>),
    /// Databases were removed.
    Removed(Removed),
    /// The databases in the store; `None` if listing them failed.
    Listed(Option<Vec<RangeId>>),
    /// Databases whose files nothing reads; `None` if finding them failed.
    Removable(Option<Vec<RangeId>>),
    /// Untracked pins were released; `complete` if all of them.
    PinsReleased { complete: bool },
}
