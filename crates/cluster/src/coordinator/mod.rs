//! The registry of assignments: which host serves which range. The controller and the hosts share it.
//!
//! ```text
//!  controller: announce the map, assign ─▶ host: open the database ─▶ host: activate ─▶ host serves
//!  after a change was decided: the host serves the new ranges ─▶ controller: announce the map
//! ```
//!
//! The partition map lists the ranges; the coordinator maps each range to its host. The assignments need no
//! persistence, because ranges can be assigned again.
//!
//! - [`LocalCoordinator`]: in memory, for a process that serves all ranges.
//! - `manager::coordinator`: in the registry of a cluster, for its elected manager.
//!
//! Guarantees of every coordinator:
//! - only the newest assignment of a range can be activated: if two hosts are assigned the same range, at most one
//!   serves it;
//! - an assignment is independent of other ranges. It does not wait for splits, merges or snapshots, except for an
//!   undecided change of the same range.

mod local;
mod servers;
pub(crate) mod shapes;

use crate::map::{MapRecord, RangeSpec};
use async_trait::async_trait;
use partita_range::RangeId;

pub use local::LocalCoordinator;
pub(crate) use servers::{has_living_owner, serving_owner, takes_ranges};
pub(crate) use shapes::id as registry_id;

/// An instruction to a host to open and serve a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The range.
    pub range: RangeSpec,
    /// Distinguishes this assignment from others of the range.
    pub revision: u64,
}

/// Why the coordinator refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CoordinatorError {
    /// The range was reassigned or replaced later.
    #[error("the assignment of range {0} was superseded")]
    Superseded(RangeId),
    /// This process does not manage the ranges any more: its lease ended, or another process was elected.
    #[error("this server is not the manager of the cluster any more: {0}")]
    NotManager(String),
    /// A range has no living owner, or the registry does not answer.
    #[error("the ranges cannot be changed now: {0}")]
    NotNow(String),
    /// The keys of the registry are not those that a manager leaves behind, or this version cannot read them.
    #[error("the registry of the cluster is damaged: {0}")]
    Damaged(String),
}

/// The registry of assignments. Used as `Arc<dyn Coordinator>`.
#[async_trait]
pub trait Coordinator: Send + Sync + 'static {
    /// Confirms that this process manages the ranges. A start calls it between reading the partition map and storing its
    /// first version, so that a paused manager of an earlier term stores nothing (rule I6).
    ///
    /// # Errors
    /// [`CoordinatorError::NotManager`].
    async fn confirm(&self) -> Result<(), CoordinatorError> {
        Ok(())
    }

    /// Makes the registry list the ranges of the newest stored map. Call it before the first assignment and after each
    /// decided change: the host of a change serves the new ranges already, so they have the owner of those that they
    /// replace. A record that is older than an announced one changes nothing.
    ///
    /// # Errors
    /// [`CoordinatorError`]; the next call makes up for it.
    async fn announce(&self, map: &MapRecord) -> Result<(), CoordinatorError>;

    /// The controller has excluded ranges from assignment, because a change of them begins. Returns when no assignment of
    /// them is under way any more.
    ///
    /// # Errors
    /// [`CoordinatorError::NotNow`]: the change must not begin.
    async fn begin_change(&self, ranges: &[RangeId]) -> Result<(), CoordinatorError> {
        let _ = ranges;
        Ok(())
    }

    /// Assigns ranges to the host. Earlier assignments of these ranges become invalid.
    ///
    /// # Errors
    /// [`CoordinatorError`]; some of the ranges may be assigned.
    async fn assign(&self, ranges: &[RangeSpec]) -> Result<Vec<Assignment>, CoordinatorError>;

    /// Allows the host to serve the range. A host calls it after it has opened the database and before it serves the
    /// first request.
    ///
    /// # Errors
    /// [`CoordinatorError`]: the host must not serve the range.
    async fn activate(&self, assignment: &Assignment) -> Result<(), CoordinatorError>;
}
