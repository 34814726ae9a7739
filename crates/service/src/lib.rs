//! The parts that all storage services share: accounts, fair admission, scalability targets, Timestamps, service
//! properties with CORS rules, stored access policies, the removal of dropped containers, and the memory for bytes in
//! flight.
//!
//! A service (tables, queues; later blobs) is a crate above this one and defines its keys and rows. This crate
//! depends on no protocol, and uses only the prefixes of keys.
//!
//! One [`Storage`] serves all services of a process: they share the commit pipeline, so they share its admission queues
//! and the targets of accounts.
//!
//! In a cluster, other servers serve some of the ranges. [`FarRows`] reads and changes their rows.

mod accounts;
mod admission;
mod catalog_home;
mod dropped;
mod error;
mod far_rows;
mod leases;
mod memory;
mod policies;
mod properties;
mod record;
mod record_memo;
mod remove;
mod serve_rows;
mod storage;
mod targets;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod timestamps;
mod walk;

pub use accounts::{Account, Accounts};
pub use admission::{Admission, AdmissionQueue, Admitted, write_cost};
pub use catalog_home::{CatalogHome, catalog_start};
pub use dropped::Dropped;
pub use error::{AccountLimit, Busy, BusyReason, Error};
pub use far_rows::{Expected, FarPage, FarRows, FarWrite, LeasedRow};
pub use leases::CatalogChange;
pub use memory::{MemoryBudget, Reserved, UNCOUNTED_BYTES};
pub use policies::PolicyRecord;
pub use properties::AccountProperties;
pub use record::{decode_record, encode_record};
pub use record_memo::RecordMemo;
pub use remove::remove_keys;
pub use storage::Storage;
pub use targets::{
    Charged, ContainerRates, Cost, CountServers, Direction, Limited, Rates, Scope, ScopeNames,
    Targets,
};
pub use timestamps::Timestamps;
pub use walk::{CHUNK_BYTES, CHUNK_ROWS, RowWalk};
