//! Which host serves which range: the register of assignments, shared by controller and hosts.
//!
//! ```text
//!  controller: assign ─▶ host: open the database ─▶ host: activate ─▶ host serves
//!  after a change was decided: the host serves the new ranges ─▶ controller: replace
//! ```
//!
//! The partition map lists the ranges, the coordinator which host serves each. Its content may be lost, because ranges can be
//! assigned again: [`LocalCoordinator`] keeps it in memory.
//!
//! Every coordinator promises:
//! - only the newest assignment of a range can be activated: of two hosts that are to open a range, at most one serves it;
//! - an assignment is independent of other ranges. It does not wait for splits, merges or snapshots, unless a change of this range
//!   is undecided; then the controller makes it wait.

mod local;

use crate::map::Epoch;
use async_trait::async_trait;
use partita_range::{Bounds, RangeId};

pub use local::LocalCoordinator;

/// A range as the partition map names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeSpec {
    /// Its id, and its database's.
    pub id: RangeId,
    /// The epoch it is served under.
    pub epoch: Epoch,
    /// Its keys.
    pub bounds: Bounds,
}

/// The order to a host to open and serve a range.
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
    /// The range was assigned again, or replaced, since.
    #[error("the assignment of range {0} was superseded")]
    Superseded(RangeId),
}

/// The register of assignments. Used as `Arc<dyn Coordinator>`.
#[async_trait]
pub trait Coordinator: Send + Sync + 'static {
    /// Assigns ranges to the host, in one transaction. Earlier assignments of these ranges no longer count.
    ///
    /// # Errors
    /// [`CoordinatorError`]; nothing was assigned.
    async fn assign(&self, ranges: &[RangeSpec]) -> Result<Vec<Assignment>, CoordinatorError>;

    /// Allows the host to serve the range from now on. A host calls it when the database is open, before the first answer.
    ///
    /// # Errors
    /// [`CoordinatorError`]: the host must not serve the range.
    async fn activate(&self, assignment: &Assignment) -> Result<(), CoordinatorError>;

    /// Enters a decided change in one transaction: removes the old ranges and adds the new ones, which the host of the change already
    /// serves.
    ///
    /// # Errors
    /// [`CoordinatorError`]; nothing was entered.
    async fn replace(&self, old: &[RangeId], new: &[RangeSpec]) -> Result<(), CoordinatorError>;
}
