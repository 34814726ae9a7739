//! Errors of opening and changing ranges.

use crate::coordinator::CoordinatorError;
use crate::map::{Finding, MapError};
use partita_engine::{ChangeError, OpenError, WriteError};
use partita_range::RangeId;
use std::error::Error;
use std::sync::Arc;

/// Why the ranges of a store were not opened. Each case needs an operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The map is damaged, or not proven to be the newest: a start could hide or delete rows. Nothing was changed.
    #[error("the store is damaged, and nothing was changed: {}", list(.0))]
    Damaged(Vec<Finding>),
    /// The map cannot be loaded or saved.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The databases cannot be listed.
    #[error(transparent)]
    EngineSet(#[from] ChangeError),
    /// A range cannot be assigned.
    #[error(transparent)]
    Coordinator(#[from] CoordinatorError),
    /// A host did not open a range.
    #[error(transparent)]
    Host(#[from] HostError),
}

fn list(findings: &[Finding]) -> String {
    let findings: Vec<String> = findings.iter().map(Finding::to_string).collect();
    findings.join("; ")
}

/// Why a host failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The database of a range does not open.
    #[error("cannot open range {range}")]
    Open {
        /// The id of the range.
        range: RangeId,
        /// The error of the engine.
        source: OpenError,
    },
    /// The host may not serve a range.
    #[error(transparent)]
    NotActivated(#[from] CoordinatorError),
    /// This host does not serve the range.
    #[error("range {0} not found")]
    NoSuchRange(RangeId),
    /// The range is being changed, frozen, taken over or handed over.
    #[error("range {0} is being changed, frozen, taken over or handed over")]
    Busy(RangeId),
    /// The server that has the range did not answer.
    #[error("the server of range {range} did not answer: {why}")]
    Unanswered {
        /// The id of the range.
        range: RangeId,
        /// What failed.
        why: String,
    },
    /// The engine refused to flush.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The engine failed to change its files.
    #[error(transparent)]
    EngineSet(#[from] ChangeError),
}

/// Why a change of ranges was refused. Nothing changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeRefused {
    /// The range does not exist, or was replaced.
    #[error("range {0} not found")]
    NoSuchRange(RangeId),
    /// The two ranges are not neighbours in key order.
    #[error("range {0} does not end where range {1} begins")]
    NotNeighbours(RangeId, RangeId),
    /// The key is outside the range, or inside a partition that begins outside it.
    #[error("the split key is not the start of a partition inside range {0}")]
    KeyOutside(RangeId),
    /// The range has no boundary between two partitions.
    #[error("range {0} has no split key: it has fewer than two partitions")]
    NoSplitKey(RangeId),
    /// The range shares files with too many older databases and must be compacted first.
    #[error(
        "range {range} still shares files with {kept} older databases; it is being compacted, try again later"
    )]
    Ancestry {
        /// The id of the range.
        range: RangeId,
        /// The number of databases that cannot be deleted because of the range.
        kept: u64,
    },
    /// The number of ranges is at its maximum.
    #[error("the maximum of {0} ranges is reached; merge some ranges first")]
    TooManyRanges(usize),
    /// Another server manages the ranges.
    #[error("this server does not manage the ranges of the cluster")]
    NotManager,
    /// The change timed out, or the store failed.
    #[error("the change failed and was rolled back: {0}")]
    Failed(Arc<str>),
}

impl ChangeRefused {
    /// [`ChangeRefused::Failed`] with the error and its causes in one text.
    pub(crate) fn failed(error: impl Error) -> Self {
        Self::Failed(error_chain(&error))
    }
}

/// An error and its causes in one text.
#[must_use]
pub fn error_chain(error: &dyn Error) -> Arc<str> {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.into()
}
