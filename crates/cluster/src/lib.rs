//! Where a key is served, and who changes that.
//!
//! - [`PartitionMap`]: which range serves a key, as this process knows it. Callers ask for each operation anew; a page of a query
//!   ends where its range ends.
//! - [`MapStore`]: the map as it is kept, one transaction a change.
//! - [`SnapshotRecord`]: the whole store at one instant; [`SnapshotReader`] reads it.
//! - [`backup`]: a snapshot as files that need nothing else to be read.
//! - [`Manager`]: the one role that changes the map: opens the ranges, splits, merges, and removes what is left over.
//!
//! Here the manager and all ranges are in one process. Nothing above may assume that: a range is known by its id and epoch, and
//! a write can find it in transit.

pub mod backup;
mod balance;
mod key_text;
mod manager;
mod map_store;
mod partition_map;
mod snapshot;

pub use balance::{Action, BalanceSettings, Balancer, Cut, Observed};
pub use manager::{
    ChangeRefused, LINEAGE_MAX, Listed, Load, Manager, ManagerError, Merged, RANGES_MAX,
    SNAPSHOTS_MAX, SnapshotError, Split, Taken, rate,
};
pub use map_store::{
    ChangeRecord, MapError, MapRecord, MapStore, ObjectMapStore, RangeRecord, StoredSnapshots,
    UnreadableSnapshot,
};
pub use partition_map::{Epoch, Gap, LockError, PartitionMap, Route, Served, TRANSIT_WAIT};
pub use snapshot::{
    InvalidSnapshotName, PinnedRange, SnapshotName, SnapshotReader, SnapshotRecord, SnapshotScan,
};
