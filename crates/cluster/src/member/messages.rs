//! What the manager asks of the hosts of other processes, and their answers, as JSON. Members that a reader does not know
//! are ignored; a request that it does not know is refused.

use crate::balance::{Observed, SplitPoint};
use crate::error::ChangeRefused;
use crate::host::RangeAction;
use crate::map::{ChangeRecord, Epoch, MapRecord, RangeSpec, key_text};
use crate::targets::{TargetDemand, TargetShare};
use bytes::Bytes;
use partita_range::{Bounds, RangeId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A request of the manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum HostRequest {
    /// [`Host::survey`](crate::Host::survey). `Counts`.
    Survey { ranges: Vec<u64> },
    /// [`Host::split_key`](crate::Host::split_key). `Key`.
    SplitKey { range: u64 },
    /// [`Host::change`](crate::Host::change). `Changed`.
    Change {
        record: ChangeRecord,
        new: Vec<ShapeText>,
        decision: Box<MapRecord>,
    },
    /// [`Host::files`](crate::Host::files). `Files`.
    Files,
    /// [`Host::act`](crate::Host::act). `Done`.
    Act { range: u64, action: ActionText },
    /// [`Host::removable`](crate::Host::removable). `Ranges`.
    Removable { ranges: Vec<u64> },
    /// Hand a range over, and release it in the registry. `Done`.
    HandOver { range: u64 },
    /// Hold all writes of the process for snapshot `cut`, at most for so many milliseconds. Ends an earlier hold. `Done`.
    Hold {
        cut: u64,
        ranges: Vec<u64>,
        limit_ms: u64,
    },
    /// Pin the ranges that are held for `cut`, and let writes go on. `Pins`.
    Cut { cut: u64 },
    /// Let writes go on that are held for `cut`. `Done`.
    EndHold { cut: u64 },
    /// The load of the ranges, and what was asked of the targets, since this was last asked. `Loads`.
    Loads,
    /// The shares of targets from now on. Only for hosts that have told what was asked of their targets. `Done`.
    Shares { shares: Vec<TargetShare> },
    /// The ranges that the host serves or is about to serve. `Ranges`.
    Holds,
}

/// The answer of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(crate) enum HostAnswer {
    Done,
    Counts {
        counts: Vec<u64>,
    },
    Key(KeyAnswer),
    Changed {
        transit_us: u64,
    },
    /// The change failed. `is_closed`: the new databases are closed.
    ChangeFailed {
        why: Refusal,
        is_closed: bool,
    },
    Files {
        files: Vec<(String, u64)>,
    },
    Ranges {
        ranges: Vec<u64>,
    },
    /// One pin for each range, in the order of the request, and how long writes waited.
    Pins {
        pins: Vec<String>,
        pause_us: u64,
    },
    /// `demands` is absent without targets, and from an earlier release.
    Loads {
        loads: Vec<Load>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        demands: Option<Vec<TargetDemand>>,
    },
    Refused {
        why: Refusal,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyAnswer {
    #[serde(with = "key_text")]
    pub(crate) key: Bytes,
}

/// A range that a change creates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShapeText {
    id: u64,
    epoch: Epoch,
    #[serde(with = "key_text")]
    start: Bytes,
    #[serde(
        with = "key_text::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    end: Option<Bytes>,
}

impl From<&RangeSpec> for ShapeText {
    fn from(spec: &RangeSpec) -> Self {
        Self {
            id: spec.id.0,
            epoch: spec.epoch,
            start: spec.bounds.start.clone(),
            end: spec.bounds.end.clone(),
        }
    }
}

impl From<ShapeText> for RangeSpec {
    fn from(text: ShapeText) -> Self {
        Self {
            id: RangeId(text.id),
            epoch: text.epoch,
            bounds: Bounds {
                start: text.start,
                end: text.end,
            },
        }
    }
}

/// An action on a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActionText {
    Flush,
    FlushMost,
    Detach,
    Collect,
    /// For so many milliseconds.
    Freeze(u64),
}

impl From<RangeAction> for ActionText {
    fn from(action: RangeAction) -> Self {
        match action {
            RangeAction::Flush => Self::Flush,
            RangeAction::FlushMost => Self::FlushMost,
            RangeAction::Detach => Self::Detach,
            RangeAction::Collect => Self::Collect,
            RangeAction::Freeze(time) => {
                Self::Freeze(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
            }
        }
    }
}

impl From<ActionText> for RangeAction {
    fn from(text: ActionText) -> Self {
        match text {
            ActionText::Flush => Self::Flush,
            ActionText::FlushMost => Self::FlushMost,
            ActionText::Detach => Self::Detach,
            ActionText::Collect => Self::Collect,
            ActionText::Freeze(millis) => Self::Freeze(Duration::from_millis(millis)),
        }
    }
}

/// The load of a range in the last window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Load {
    id: u64,
    bytes: u64,
    rate: f64,
    cores: f64,
    detaching: bool,
    /// Whether the split point is known.
    searched: bool,
    #[serde(
        with = "key_text::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    split_at: Option<Bytes>,
}

impl From<Observed> for Load {
    fn from(observed: Observed) -> Self {
        let (searched, split_at) = match observed.split_point {
            SplitPoint::At(key) => (true, Some(key)),
            SplitPoint::None => (true, None),
            SplitPoint::Unknown => (false, None),
        };
        Self {
            id: observed.id.0,
            bytes: observed.bytes,
            rate: observed.rate,
            cores: observed.cores,
            detaching: observed.detaching,
            searched,
            split_at,
        }
    }
}

impl From<Load> for Observed {
    fn from(load: Load) -> Self {
        Self {
            id: RangeId(load.id),
            bytes: load.bytes,
            rate: load.rate,
            cores: load.cores,
            split_point: match (load.searched, load.split_at) {
                (_, Some(key)) => SplitPoint::At(key),
                (true, None) => SplitPoint::None,
                (false, None) => SplitPoint::Unknown,
            },
            detaching: load.detaching,
        }
    }
}

/// [`ChangeRefused`], or the text of another error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refusal {
    NoSuchRange(u64),
    NotNeighbours(u64, u64),
    KeyOutside(u64),
    NoSplitKey(u64),
    Ancestry(u64, u64),
    TooManyRanges(usize),
    NotManager,
    Failed(Arc<str>),
}

impl From<ChangeRefused> for Refusal {
    fn from(why: ChangeRefused) -> Self {
        match why {
            ChangeRefused::NoSuchRange(range) => Self::NoSuchRange(range.0),
            ChangeRefused::NotNeighbours(left, right) => Self::NotNeighbours(left.0, right.0),
            ChangeRefused::KeyOutside(range) => Self::KeyOutside(range.0),
            ChangeRefused::NoSplitKey(range) => Self::NoSplitKey(range.0),
            ChangeRefused::Ancestry { range, kept } => Self::Ancestry(range.0, kept),
            ChangeRefused::TooManyRanges(max) => Self::TooManyRanges(max),
            ChangeRefused::NotManager => Self::NotManager,
            ChangeRefused::Failed(why) => Self::Failed(why),
        }
    }
}

impl From<Refusal> for ChangeRefused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchRange(range) => Self::NoSuchRange(RangeId(range)),
            Refusal::NotNeighbours(left, right) => {
                Self::NotNeighbours(RangeId(left), RangeId(right))
            }
            Refusal::KeyOutside(range) => Self::KeyOutside(RangeId(range)),
            Refusal::NoSplitKey(range) => Self::NoSplitKey(RangeId(range)),
            Refusal::Ancestry(range, kept) => Self::Ancestry {
                range: RangeId(range),
                kept,
            },
            Refusal::TooManyRanges(max) => Self::TooManyRanges(max),
            Refusal::NotManager => Self::NotManager,
            Refusal::Failed(why) => Self::Failed(why),
        }
    }
}

/// The ids as they are sent.
pub(crate) fn numbers(ranges: &[RangeId]) -> Vec<u64> {
    ranges.iter().map(|range| range.0).collect()
}

/// The ids as they are used here.
pub(crate) fn ids(numbers: Vec<u64>) -> Vec<RangeId> {
    numbers.into_iter().map(RangeId).collect()
}
