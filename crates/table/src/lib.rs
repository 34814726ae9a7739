//! The Table service: its operations, on the storage that all services share.
//!
//! Arguments and results are `model` types, without HTTP and status codes. Each operation has a file with its name, in
//! `catalog` or `entity`.
//!
//! Invariants:
//! - every response depends on durable state only, including an error (not found, already exists, condition not met);
//! - a refused request changes nothing;
//! - two writes of an entity never have the same Timestamp, and a later write has a later one.

mod background;
mod catalog;
mod entity;
mod error;
mod plan;
mod service;
mod target_settings;
#[cfg(test)]
mod tests;

pub use catalog::{
    KeyLocation, Restored, SnapshotTable, Table, TableNames, TablePage, TableToken, snapshot_tables,
};
pub use entity::{Change, ChangeKind, Changed, Condition, Page, Query, RowData, ScanReport};
pub use error::{BatchError, Error, KeyName};
pub use plan::{Plan, QueryClass};
pub use service::{Service, ServiceSettings};
pub use target_settings::{TableTargets, TargetSettings};
