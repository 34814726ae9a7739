//! What happens to the controller.

use crate::balance::Observed;
use crate::error::ChangeRefused;
use crate::host::ChangeFailed;
use crate::map::{MapError, MapRecord};
use bytes::Bytes;
use partita_range::RangeId;
use std::fmt;
use std::time::{Duration, Instant};

/// Tells what was asked of the controller from everything else that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JobId(pub(crate) u64);

impl JobId {
    /// The start, which comes first.
    pub(crate) const START: Self = Self(0);
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the controller is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Split a range at a key, or in the middle of its bytes.
    Split { range: RangeId, at: Option<Bytes> },
    /// Merge two neighbours.
    Merge { left: RangeId, right: RangeId },
    /// Refuse the writes of a range for this long.
    Freeze { range: RangeId, time: Duration },
    /// Keep all changes of ranges away until [`Event::Released`].
    LockChanges,
    /// Delete databases that nothing needs: those of replaced ranges, and those that no record names.
    DeleteReplaced,
    /// Release pins that no snapshot names, if that is due.
    ReleasePins,
}

/// What was removed of some databases. The others stay: something reads their files, or the store failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// Those that are gone.
    pub(crate) gone: Vec<RangeId>,
    /// The store was too slow; the rest was not tried.
    pub(crate) late: bool,
}

/// An event: something was asked for, or an action has a result.
#[derive(Debug)]
pub(crate) enum Event {
    /// The first one: the newest stored record, and the databases in the store.
    Found {
        record: Option<MapRecord>,
        databases: Vec<RangeId>,
    },
    /// The ranges are open.
    Opened,
    /// Something is asked for.
    Asked { job: JobId, request: Request },
    /// The holder of [`Request::LockChanges`] is done.
    Released { job: JobId },
    /// How many other databases each range keeps from being deleted.
    Surveyed {
        job: JobId,
        kept: Result<Vec<u64>, ChangeRefused>,
    },
    /// Where the middle of a range is.
    SplitKeyFound {
        job: JobId,
        key: Result<Bytes, ChangeRefused>,
    },
    /// Ranges were flushed.
    Flushed {
        job: JobId,
        result: Result<(), ChangeRefused>,
    },
    /// A record is stored, or is not.
    Saved {
        job: JobId,
        result: Result<(), MapError>,
    },
    /// A change is decided and took this long in transit, or failed.
    Changed {
        job: JobId,
        result: Result<Duration, ChangeFailed>,
    },
    /// A frozen range takes writes again.
    Thawed {
        job: JobId,
        result: Result<(), ChangeRefused>,
    },
    /// Databases were removed.
    Removed { job: JobId, removed: Removed },
    /// The databases in the store; `None` if they could not be listed.
    Listed {
        job: JobId,
        databases: Option<Vec<RangeId>>,
    },
    /// Those of some databases that nothing reads; `None` if that could not be found out.
    Removable {
        job: JobId,
        databases: Option<Vec<RangeId>>,
    },
    /// Untracked pins were released, all of them or some.
    PinsReleased { job: JobId, complete: bool },
    /// A snapshot failed halfway: there may be pins that no record names.
    PinsSuspected,
    /// What the ranges did in the last window.
    Observed { now: Instant, ranges: Vec<Observed> },
    /// What the balancer had begun is over.
    Balanced {
        now: Instant,
        result: Result<(), ChangeRefused>,
    },
    /// An action of a job ended without an answer.
    Broken { job: JobId },
}
