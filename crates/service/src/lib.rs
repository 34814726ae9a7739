//! What all storage services share, whatever their protocol: accounts, fair admission, scalability targets, Timestamps,
//! service properties with CORS rules, stored access policies.
//!
//! A service (tables; later queues and blobs) is a crate above this one. It gives meaning to keys and rows; this crate
//! knows neither a protocol nor the rows of a service, only their keys' prefixes.
//!
//! One [`Storage`] serves all services of a process: they write through the same pipeline, so they wait in the same
//! admission queues and are charged to the same accounts.

mod accounts;
mod admission;
mod error;
mod policies;
mod properties;
mod record;
mod storage;
mod targets;
mod timestamps;

pub use accounts::{Account, Accounts};
pub use admission::{Admission, AdmissionQueue, Admitted, write_cost};
pub use error::{AccountLimit, Busy, BusyReason, Error};
pub use policies::PolicyRecord;
pub use record::{decode_record, encode_record};
pub use storage::Storage;
pub use targets::{
    Charged, ContainerRates, Cost, Direction, Limited, Rates, Scope, ScopeNames, Targets,
};
pub use timestamps::Timestamps;
