//! The registry of assignments: which host serves which range. The controller and the hosts share it.
//!
//! ```text
//!  controller: assign ─▶ host: open the database ─▶ host: activate ─▶ host serves
//!  after a change was decided: the host serves the new ranges ─▶ controller: replace
//! ```
//!
//! The partition map lists the ranges; the coordinator maps each range to its host. The assignments need no
//! persistence, because ranges can be assigned again: [`LocalCoordinator`] keeps them in memory.
//!
//! Guarantees of every coordinator:
//! - only the newest assignment of a range can be activated: if two hosts are assigned the same range, at most one
//!   serves it;
//! - an assignment is independent of other ranges. It does not wait for splits, merges or snapshots, except for an
//!   undecided change of the same range.

mod local;

use crate::map::Epoch;
use async_trait::async_trait;
use partita_range::{Bounds, RangeId};

pub use local::LocalCoordinator;

/// A range as listed in the partition map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeSpec {
    /// The id of the range and of its database.
    pub id: RangeId,
    /// The epoch under which it is served.
    pub epoch: Epoch,
    /// Its keys.
    pub bounds: Bounds,
}

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
}

/// The registry of assignments. Used as `Arc<dyn Coordinator>`.
#[async_trait]
pub trait Coordinator: Send + Sync + 'static {
    /// Assigns ranges to the host, in one transaction. Earlier assignments of these ranges become invalid.
    ///
    /// # Errors
    /// [`CoordinatorError`]; nothing was assigned.
    async fn assign(&self, ranges: &[RangeSpec]) -> Result<Vec<Assignment>, CoordinatorError>;

    /// Allows the host to serve the range. A host calls it after it has opened the database and before it serves the
    /// first request.
    ///
    /// # Errors
    /// [`CoordinatorError`]: the host must not serve the range.
    async fn activate(&self, assignment: &Assignment) -> Result<(), CoordinatorError>;

    /// Records a decided change in one transaction: removes the old ranges and adds the new ranges, which the host of
    /// the change already serves.
    ///
    /// # Errors
    /// [`CoordinatorError`]; nothing was recorded.
    async fn replace(&self, old: &[RangeId], new: &[RangeSpec]) -> Result<(), CoordinatorError>;
}
