//! Who serves which range: the register that controller and hosts agree through.
//!
//! ```text
//!  controller: assign ─▶ host: open the database ─▶ host: activate ─▶ host serves
//!  after a change was decided: the host serves the new ranges ─▶ controller: replace
//! ```
//!
//! The partition map says which ranges exist, the coordinator which host serves each. It holds nothing that is not in the map or
//! cannot be assigned anew, so it may be lost: [`LocalCoordinator`] keeps it in memory.
//!
//! What every coordinator promises:
//! - the newest assignment of a range counts, and only that one can be activated: of two hosts that were told to open a range, at
//!   most one serves it;
//! - an assignment depends on no other range. It does not wait for splits, merges and snapshots, unless a change of this range is
//!   still undecided, which the controller sees to.

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

/// A range that one host is to open and serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The range.
    pub range: RangeSpec,
    /// Tells this assignment from every other of the range.
    pub revision: u64,
}

/// Why the coordinator refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CoordinatorError {
    /// The range was assigned anew, or replaced, since.
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

    /// Asks whether the host may serve the range from now on. A host calls it after the database is open and before the first
    /// answer.
    ///
    /// # Errors
    /// [`CoordinatorError`]: the host must not serve the range.
    async fn activate(&self, assignment: &Assignment) -> Result<(), CoordinatorError>;

    /// After a change was decided: removes the ranges it replaced and enters those in their place, in one transaction. The host of
    /// the change serves the new ranges already.
    ///
    /// # Errors
    /// [`CoordinatorError`]; nothing was entered.
    async fn replace(&self, old: &[RangeId], new: &[RangeSpec]) -> Result<(), CoordinatorError>;
}
