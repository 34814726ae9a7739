//! Snapshots: the whole store as it was at one instant, kept readable without a copy.
//!
//! A snapshot is a record in the [`crate::MapStore`] that names, for each range there was, the pin under which its database keeps
//! what it held. The record is what makes the snapshot: a pin without one is nobody's, and is let go. How one is taken stands at
//! [`crate::Manager::create_snapshot`].

mod name;
mod reader;
mod record;

pub use name::{InvalidSnapshotName, SnapshotName};
pub use reader::{SnapshotReader, SnapshotScan};
pub use record::{PinnedRange, SnapshotRecord};
