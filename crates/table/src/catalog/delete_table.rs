//! Delete Table: one write removes the table from the catalog; the sweep removes its rows.

use super::name_key;
use super::record::TableRecord;
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, TableId, TableName};
use partita_service::decode_record;

impl Service {
    /// Deletes a table with all its entities. The name is free immediately. Cancel-safe: if dropped during the commit,
    /// the change still completes.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn delete_table(&self, account: &AccountName, name: &TableName) -> Result<(), Error> {
        let key = name_key(account, name);
        let keys = std::slice::from_ref(&key);
        let locked = self.storage().change_catalog(keys).await?;
        let row = locked.read(&key).await?.ok_or(Error::NoSuchTable)?;
        let record: TableRecord = decode_record(&row)?;
        let (dropped_key, dropped) = self.dropped_row(account, TableId(record.id), &record.name);
        let mut batch = Batch::with_capacity(2);
        batch.delete(key);
        // Both keys are in the same range, because a split never divides the catalog.
        batch.put(dropped_key, dropped);
        locked.commit(batch).await?;
        self.dropped.notify();
        Ok(())
    }
}
