//! The partition map: which range serves a key, and how that is stored.
//!
//! - [`PartitionMap`] answers for this process: which range serves a key now. Writes wait here for a range in transit.
//! - [`MapRecord`] is one stored version of the map, and knows the versions that may follow it; [`MapStore`] keeps the versions, one
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
