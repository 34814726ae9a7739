//! Entities: the operations that write and read them.

mod change;
mod change_entity;
mod delete_entity;
mod entity_group_transaction;
mod expiry;
mod get_entity;
mod insert_entity;
mod meter;
mod query_entities;
mod row_data;
mod update_entity;

pub use change::{Change, ChangeKind, Changed, Condition};
pub(crate) use expiry::Expiry;
pub use query_entities::{Page, Query, ScanReport};
pub use row_data::RowData;

#[cfg(test)]
mod tests;
