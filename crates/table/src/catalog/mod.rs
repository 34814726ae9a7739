//! The catalog: an account's tables with their access policies and settings, and its service properties. Its rows are in the
//! same key space as the entities, see `docs/format/catalog.md`.

mod create_table;
mod delete_table;
mod each_table;
mod expire;
mod get_table;
mod key_location;
mod query_tables;
mod record;
mod rename_table;
mod restore_table;
mod service_properties;
mod sweep;
mod table_acl;
mod table_settings;
mod table_walk;
#[cfg(test)]
mod tests;
mod truncate_table;

pub(crate) use expire::expire;
pub(crate) use get_table::CatalogMemo;
pub use get_table::Table;
pub use key_location::{KeyLocation, TableNames};
pub use query_tables::{TablePage, TableToken};
pub use restore_table::{Restored, SnapshotTable, snapshot_tables};
pub(crate) use sweep::sweep;

use bytes::Bytes;
use partita_model::{AccountName, KeyKind, KeyWriter, TableId, TableName};

/// The key of a table's record.
fn table_key(account: &AccountName, folded: &str) -> Bytes {
    let account = account.as_str();
    KeyWriter::new(KeyKind::TABLE, account.len() + folded.len() + 1)
        .text(account)
        .last_text(folded)
        .finish()
}

/// The key of the record of the table with this name, in any case.
fn name_key(account: &AccountName, table: &TableName) -> Bytes {
    table_key(account, &table.folded())
}

/// The key of the record of a deleted table whose rows are still to be removed.
fn dropped_key(account: &AccountName, table: TableId) -> Bytes {
    let account = account.as_str();
    KeyWriter::new(KeyKind::DROPPED_TABLE, account.len() + 9)
        .text(account)
        .table_id(table)
        .finish()
}
