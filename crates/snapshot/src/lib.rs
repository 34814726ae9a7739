//! Snapshots, the whole store at one instant, readable without a copy; and backups of snapshots.
//!
//! A snapshot is a record that names a pin for each range of its time: the database keeps the pinned rows. The record makes the
//! snapshot: maintenance releases pins that no record names ([`SnapshotPins`] lists the named ones).
//!
//! - [`Snapshots`]: creating, listing, reading and deleting snapshots.
//! - [`SnapshotReader`]: the rows of a snapshot, as one ordered key space.
//! - [`SnapshotStore`]: storage of the records.
//! - [`backup`]: a snapshot as self-contained files.
//!
//! Built on `cluster`: it holds the change lock and has the host flush and pin the ranges.

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
