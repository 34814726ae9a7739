//! Snapshots and their backups. A snapshot is the whole store at one instant; it is read without a copy.
//!
//! A snapshot is a record that lists one pin for each range: the databases keep the pinned rows. A snapshot exists if
//! its record exists. Maintenance releases pins that are in no record ([`SnapshotPins`] lists the recorded pins).
//!
//! - [`Snapshots`]: creating, listing, reading and deleting snapshots.
//! - [`SnapshotReader`]: the rows of a snapshot, as one ordered key space.
//! - [`SnapshotStore`]: storage of the records.
//! - [`backup`]: a snapshot as self-contained files.
//!
//! To create or delete a snapshot, this crate takes the change lock of the `cluster` crate, so that no range is split
//! or merged meanwhile.

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
pub use snapshots::{
    SNAPSHOTS_MAX, SnapshotCreated, SnapshotError, SnapshotInfo, SnapshotListing, Snapshots,
};
pub use store::{
    ObjectSnapshotStore, SnapshotStore, SnapshotStoreError, StoredSnapshots, UnreadableSnapshot,
};
