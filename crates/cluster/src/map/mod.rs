//! The partition map, in memory and stored.
//!
//! - [`PartitionMap`]: the range that serves a key now, in this process. Writes wait here for a range in transit.
//! - [`MapRecord`]: one stored version of the map, with the functions that build the next one; [`MapStore`] stores the versions, one
//!   transaction a change.

pub mod key_text;
mod partition_map;
mod record;
mod store;

pub use partition_map::{
    CoverageError, Epoch, LockError, PartitionMap, Route, Served, TRANSIT_WAIT,
};
pub use record::{ChangeRecord, MapRecord, RangeRecord, check_starts};
pub(crate) use store::save_and_confirm;
pub use store::{MapError, MapStore, ObjectMapStore};
