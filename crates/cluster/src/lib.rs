//! Where a key is served, and what changes that.
//!
//! ```text
//!  server, snapshots ──▶ Cluster ──▶ driver ──events──▶ controller (decides; pure)
//!                                      │  ◀──actions──
//!                                      ├──▶ host (opens, serves, changes, pins ranges)
//!                                      ├──▶ coordinator (who serves which range)
//!                                      └──▶ map store, databases
//! ```
//!
//! - [`PartitionMap`]: which range serves a key, as this process knows it. Callers ask for each operation anew; a page of a query ends
//!   where its range ends.
//! - [`MapStore`], [`MapRecord`]: the map as it is stored, one transaction a change.
//! - [`Cluster`]: the handle that servers and tools use: splits, merges, maintenance, heat, status.
//! - `controller`: the state machine that decides. [`Host`]: what it asks of the processes that serve ranges; [`LocalHost`] is the one
//!   here. [`Coordinator`]: who serves which range; [`LocalCoordinator`] grants everything to this process.
//! - `maintenance`: deleting what changes leave behind. `balance`: when to split and merge unasked. `watch`: heat over time.
//!
//! Here controller and one host are in one process. They speak through the traits only, so that hosts can be elsewhere: nothing
//! above may assume that a range is local, and a write can find it in transit.

mod balance;
mod cluster;
mod controller;
mod coordinator;
mod driver;
mod error;
mod host;
mod maintenance;
mod map;
#[cfg(any(test, feature = "test-world"))]
#[allow(
    clippy::unwrap_used,
    reason = "a world for tests; its panics are their results"
)]
pub mod test_world;
#[cfg(test)]
mod tests;
mod watch;

pub use balance::{BalanceAction, BalanceSettings, Balancer, Observed, SplitPoint};
pub use cluster::{Cluster, ClusterParts};
pub use controller::{ANCESTRY_MAX, Merged, RANGES_MAX, Split};
pub use coordinator::{Assignment, Coordinator, CoordinatorError, LocalCoordinator, RangeSpec};
pub use driver::ChangeGuard;
pub use error::{ChangeRefused, HostError, StartError, error_chain};
pub use host::{
    ChangeFailed, Host, HostReport, Leftover, LocalHost, LocalHostParts, NewRange, RangeAction,
    RangeChange, RangeReport, ReplacedReport, ReportDetail,
};
pub use maintenance::{PinRecords, PinRecordsError};
pub use map::{
    ChangeRecord, CoverageError, Epoch, LockError, MapError, MapRecord, MapStore, ObjectMapStore,
    PartitionMap, RangeRecord, Route, Served, TRANSIT_WAIT, key_text,
};
pub use watch::{StoreLoad, rate};
