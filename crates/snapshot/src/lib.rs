//! Snapshots: the whole store as it was at one instant, kept readable without a copy; and backups of them.
//!
//! A snapshot is a record that names, for each range there was, the pin under which its database keeps what it held. The record
//! makes the snapshot: a pin that no record names is released by maintenance ([`SnapshotPins`] tells it which are named).
//!
//! - [`Snapshots`]: creating, listing, reading and deleting them.
//! - [`SnapshotReader`]: the rows of one, as one ordered key space.
//! - [`SnapshotStore`]: where the records are stored.
//! - [`backup`]: a snapshot as files that need nothing else to be read.
//!
//! It is above `cluster`: it holds the change lock, asks the host to flush and pin, and knows nothing of what is inside a range.

pub mod backup;
mod name;
mod pins;
mod reader;
mod readers;
mod record;
mod snapshots;
mod store;
#[cfg(test)]
mod tests;

pub use name::{InvalidSnapshotName, SnapshotName};
pub use pins::SnapshotPins;
pub use reader::{SnapshotReader, SnapshotScan};
pub use record::{PinnedRange, SnapshotRecord};
pub use snapshots::{SNAPSHOTS_MAX, SnapshotCreated, SnapshotError, SnapshotInfo, Snapshots};
pub use store::{
    ObjectSnapshotStore, SnapshotStore, SnapshotStoreError, StoredSnapshots, UnreadableSnapshot,
};
