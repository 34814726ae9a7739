//! The table service: what the operations mean.
//!
//! It takes and returns `model` types, finds the range of a key in the partition map, and has never heard of HTTP or of a
//! status code. One operation, one file.
//!
//! Invariants:
//! - an answer rests on durable state only, a refusal (not found, already there, condition not met) as much as a success;
//! - a request that is refused has changed nothing;
//! - no two writes of an entity share a Timestamp, and a later write has a later one.

mod admission;
mod catalog;
mod entity;
mod error;
mod plan;
mod service;
mod stamps;
mod targets;

pub use catalog::{
    Place, Restored, SnapshotTable, Table, TableNames, TablePage, TableToken, snapshot_tables,
};
pub use entity::{Change, ChangeKind, Changed, Condition, Page, Query, RowData, ScanReport};
pub use error::{AccountLimit, BatchError, BusyReason, Error, KeyName};
pub use plan::{Plan, QueryClass};
pub use service::{Service, ServiceSettings};
pub use targets::{Limited, Rates, Scope, TableTargets, TargetSettings};
