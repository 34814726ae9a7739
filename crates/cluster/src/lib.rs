//! The partition map, which maps keys to ranges, and its changes: splits, merges, maintenance.
//!
//! ```text
//!  server, snapshots ──▶ Cluster ──▶ driver ──events──▶ controller (decides; pure)
//!                                      │  ◀──actions──
//!                                      ├──▶ host (opens, serves, changes, pins ranges)
//!                                      ├──▶ coordinator (which host serves which range)
//!                                      └──▶ map store, databases
//! ```
//!
//! - [`PartitionMap`]: finds the range of a key. Callers look up the range for each operation; a page of a query ends
//!   with its range.
//! - [`MapStore`], [`MapRecord`]: the stored map, one transaction per change. [`check`]: whether a stored map can be
//!   trusted, before a start changes anything.
//! - [`Cluster`]: the handle for servers and tools: splits, merges, maintenance, heat, status.
//! - `controller`: the state machine that decides. [`Host`]: the processes that serve ranges; [`LocalHost`] is the host
//!   in this process. [`Coordinator`]: which host serves which range; [`LocalCoordinator`] grants everything to this
//!   process.
//! - `maintenance`: deletes leftovers of changes. `balance`: automatic splits and merges. `watch`: load over time.
//! - [`TargetLoad`]: targets of tables and accounts that several servers serve, divided by the manager.
//! - [`Placer`]: which server of a cluster serves which range. [`VersionStore`]: what all servers of a cluster write.
//!
//! In a single server, the controller and its host share one process. In a cluster, the controller is in the manager's
//! process, and each process is a host. They communicate only through the traits: callers must not assume that a range is local, and a write may find its range in
//! transit (being split or merged).

mod balance;
mod cluster;
mod controller;
mod coordinator;
mod display_key;
mod driver;
mod error;
mod host;
mod lead;
mod maintenance;
mod manager;
mod map;
mod member;
mod pins;
mod placement;
mod targets;
#[cfg(any(test, feature = "test-world"))]
pub mod test_world;
#[cfg(test)]
mod tests;
mod version_store;
mod watch;

pub use balance::{BalanceAction, BalanceSettings, Balancer, Observed, SplitPoint};
pub use cluster::{Cluster, ClusterParts, SharedParts};
pub use controller::{Merged, Split};
pub use coordinator::{Assignment, Coordinator, CoordinatorError, LocalCoordinator};
pub use display_key::DisplayKey;
pub use driver::ChangeGuard;
pub use error::{ChangeRefused, HostError, StartError, error_chain};
pub use host::{
    ChangeFailed, HandOverError, Host, Leftover, LocalHost, LocalHostParts, NewRange, Permission,
    RangeAction, RangeChange, ServedFiles, TakeOverStep, TakeOverTimes,
};
pub use lead::Lead;
pub use manager::{FinalizeRefused, HostLink, LinkError, Manager, ManagerParts};
pub use map::{
    ChangeRecord, Checksum, Epoch, Fault, Finding, KeptServing, KeptVersion, LockError,
    MapContents, MapError, MapRecord, MapStore, NotServed, ObjectMapStore, OverlapError,
    PartitionMap, RangeRecord, RangeSpec, RebuildError, Route, Served, ServingRecord, Severity,
    StoreCheck, StoreContents, TRANSIT_WAIT, Trace, check, check_starts, checksum, confirm,
    key_text, rebuild,
};
pub use member::RangeServer;
pub use pins::{PinRecords, PinRecordsError};
pub use placement::{Move, MoveReason, PlacementSettings, Placer, RangeView, ServerView};
pub use targets::{
    DEMANDS_MAX, TargetDemand, TargetLoad, TargetScope, TargetShare, WHOLE, equal_share,
    least_share, owner_count,
};
pub use version_store::{VersionStore, VersionStoreError};
pub use watch::{StoreLoad, rate};
