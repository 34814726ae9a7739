//! Truncate Table: not of the Table service, an extension of ours.

use super::record::{DroppedRecord, TableRecord};
use super::{dropped_key, name_key};
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, TableId, TableName};
use partita_service::{decode_record, encode_record};

impl Service {
    /// Empties a table by one write, whatever its size: it gets another identity, and the rows of the old one go in the
    /// background, as those of a dropped table. Name, access policies and time to live stay. A write that found the table just
    /// before, and is answered just after, went to the rows that are gone: as if it had come first.
    ///
    /// Cancel-safe: once it writes, it is done.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn truncate_table(
        &self,
        account: &AccountName,
        name: &TableName,
    ) -> Result<(), Error> {
        let key = name_key(account, name);
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let row = locked.read(&key).await?.ok_or(Error::TableNotFound)?;
        let mut record: TableRecord = decode_record(&row)?;
        let old = TableId(record.id);
        let dropped = DroppedRecord {
            name: record.name.clone(),
            dropped: self.timestamps().next().ticks(),
        };
        record.id = partita_rt::random::u64();
        let mut batch = Batch::with_capacity(2);
        batch.put(key, encode_record(&record));
        batch.put(dropped_key(account, old), encode_record(&dropped));
        locked.commit(batch).await?;
        self.table_deleted().notify_one();
        Ok(())
    }
}
