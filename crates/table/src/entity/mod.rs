//! Entities: what changes them, and what reads them.

mod change;
mod commit_changes;
mod expiry;
mod get_entity;
mod meter;
mod query_entities;
mod row_data;

pub use change::{Change, ChangeKind, Changed, Condition};
pub(crate) use expiry::Expiry;
pub use query_entities::{Page, Query, ScanReport};
pub use row_data::RowData;

#[cfg(test)]
mod tests;
