//! The catalog: the tables of an account with their access policies and settings, and its service properties. Its rows
//! are in the same key space as the entities, see `docs/format/catalog.md`.

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
mod table;
mod table_acl;
mod table_settings;
#[cfg(test)]
mod tests;
mod truncate_table;

pub(crate) use expire::expire;
pub use key_location::{KeyLocation, TableNames};
pub use query_tables::{TablePage, TableToken};
pub use restore_table::{Restored, SnapshotTable, snapshot_tables};
pub use table::Table;

use self::record::TableRecord;
use crate::{Error, Service};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::{AccountName, KeyKind, KeyWriter, TableId, TableName};
use partita_service::catalog_start;

/// The key of a table's record.
fn table_key(account: &AccountName, folded: &str) -> Bytes {
    let account = account.as_str();
    KeyWriter::new(KeyKind::TABLE, account.len() + folded.len() + 1)
        .text(account)
        .last_text(folded)
        .finish()
}

/// The key of the record of the table with this name, ignoring case.
fn name_key(account: &AccountName, table: &TableName) -> Bytes {
    table_key(account, &table.folded())
}

impl Service {
    /// The key whose server executes the operations on tables, and those on the properties of the service.
    #[must_use]
    pub fn place_of_catalog() -> Bytes {
        catalog_start()
    }

    /// Changes the record of a table under the lock of its name. `change` may add writes in the same range to the
    /// batch.
    ///
    /// Cancel-safe: if dropped during the commit, the change still completes.
    async fn change_table(
        &self,
        account: &AccountName,
        name: &TableName,
        change: impl FnOnce(&mut TableRecord, &mut Batch) + Send,
    ) -> Result<(), Error> {
        let key = name_key(account, name);
        let is_found = self.storage().change_record(key, change).await?;
        is_found.then_some(()).ok_or(Error::TableNotFound)
    }

    /// The key and the record of a newly deleted table, whose rows the sweep will remove.
    fn dropped_row(&self, account: &AccountName, table: TableId, name: &str) -> (Bytes, Bytes) {
        self.dropped.row(account, table.0, name, self.wall_time())
    }
}
