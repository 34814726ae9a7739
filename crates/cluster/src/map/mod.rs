//! The partition map, in memory and stored.
//!
//! - [`PartitionMap`]: finds the range of a key in this process. Writes wait here for a range in transit.
//! - [`MapRecord`]: one stored version of the map, and functions that build the next version; [`MapStore`] stores the
//!   versions, one transaction per change.
//! - [`ServingRecord`]: a separate object that states that a range was served.
//! - [`check`]: compares all of them with the databases, before a start changes anything; [`rebuild`]: makes a map from
//!   the serving records.

mod check;
pub mod checksum;
mod contents;
mod finding;
pub mod key_text;
mod partition_map;
mod range_spec;
mod rebuild;
mod record;
mod serving;
mod store;
#[cfg(test)]
mod tests;

pub use check::{StoreCheck, check};
pub use checksum::Checksum;
pub use contents::{KeptServing, KeptVersion, MapContents, StoreContents};
pub use finding::{Fault, Finding, Severity, Trace};
pub use partition_map::{
    Epoch, LockError, NotServed, OverlapError, PartitionMap, Route, Served, TRANSIT_WAIT,
};
pub use range_spec::RangeSpec;
pub use rebuild::{RebuildError, rebuild};
pub use record::{ChangeRecord, MapRecord, RangeRecord, check_starts};
pub use serving::ServingRecord;
pub use store::{MapError, MapStore, ObjectMapStore, confirm};
pub(crate) use store::{save_all_serving, save_and_confirm, save_and_settle};
