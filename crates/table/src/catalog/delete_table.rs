//! Delete Table: one write takes the table out of the catalog; its rows go in the background.

use super::record::{DroppedRecord, TableRecord};
use super::{dropped_key, name_key};
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, TableId, TableName};
use partita_service::{decode_record, encode_record};

impl Service {
    /// Drops a table and, from then on, all its entities. The name is free at once. Cancel-safe: once it writes, it is done.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn delete_table(&self, account: &AccountName, name: &TableName) -> Result<(), Error> {
        let key = name_key(account, name);
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let row = locked.read(&key).await?.ok_or(Error::NoSuchTable)?;
        let record: TableRecord = decode_record(&row)?;
        let dropped = DroppedRecord {
            name: record.name,
            dropped: self.timestamps().next().ticks(),
        };
        let mut batch = Batch::with_capacity(2);
        batch.delete(key);
        // In the same range: kinds 11 and 12 of one account are neighbours, and a split cuts between PartitionKeys only.
        batch.put(
            dropped_key(account, TableId(record.id)),
            encode_record(&dropped),
        );
        locked.commit(batch).await?;
        self.table_deleted().notify_one();
        Ok(())
    }
}
