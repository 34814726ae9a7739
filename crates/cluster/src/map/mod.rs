//! The partition map, in memory and stored.
//!
//! - [`PartitionMap`]: finds the range of a key in this process. Writes wait here for a range in transit.
//! - [`MapRecord`]: one stored version of the map, and functions that build the next version; [`MapStore`] stores the
//!   versions, one transaction per change.

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
