//! The Table service: the semantics of its operations on the storage that all services share.
//!
//! It takes and returns `model` types and has no HTTP and no status codes. Each operation has a file of its name, in `catalog` or
//! `entity`.
//!
//! Invariants:
//! - an answer depends on durable state only, also an error (not found, exists, condition not met);
//! - a refused request has changed nothing;
//! - two writes of an entity never have the same Timestamp, and a later write has a later one.

mod background;
mod catalog;
mod entity;
mod error;
mod plan;
mod service;
mod target_settings;

pub use catalog::{
    KeyLocation, Restored, SnapshotTable, Table, TableNames, TablePage, TableToken, snapshot_tables,
};
pub use entity::{Change, ChangeKind, Changed, Condition, Page, Query, RowData, ScanReport};
pub use error::{BatchError, Error, KeyName};
pub use plan::{Plan, QueryClass};
pub use service::{Service, ServiceSettings};
pub use target_settings::{TableTargets, TargetSettings};
