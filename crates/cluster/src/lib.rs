//! Where a key is served: the partition map.
//!
//! Callers ask for the range of a key each time they need it and never keep the answer; a page of a query ends where its
//! range ends. Here the map is made when the process starts; all ranges are served in this process.

pub mod heat_history;
mod partition_map;

pub use heat_history::HeatHistory;
pub use partition_map::{Epoch, Gap, PartitionMap, Route, Served};
