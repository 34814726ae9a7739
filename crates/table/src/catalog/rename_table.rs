//! Rename Table: not of the Table service, an extension of ours.

use super::name_key;
use super::record::TableRecord;
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, TableName};
use partita_service::{decode_record, encode_record};

impl Service {
    /// Gives a table another name: one write, whatever its size. Its entities keep their ETags, the table its access
    /// policies. A request that found the table by its old name just before still reaches it.
    ///
    /// Cancel-safe: once it writes, it is done.
    ///
    /// # Errors
    /// [`Error::TableNotFound`]; [`Error::TableAlreadyExists`] when another table has the new name, whatever its case;
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn rename_table(
        &self,
        account: &AccountName,
        from: &TableName,
        to: &TableName,
    ) -> Result<(), Error> {
        let (old_key, new_key) = (name_key(account, from), name_key(account, to));
        // In the same range: a split cuts between PartitionKeys only, so the tables of the catalog are never parted.
        let mut keys = vec![old_key.clone(), new_key.clone()];
        keys.dedup();
        let locked = self.lock(&keys).await?;
        let row = locked.read(&old_key).await?.ok_or(Error::TableNotFound)?;
        if old_key != new_key && locked.read(&new_key).await?.is_some() {
            return Err(Error::TableAlreadyExists);
        }
        let mut record: TableRecord = decode_record(&row)?;
        to.as_str().clone_into(&mut record.name);
        let mut batch = Batch::with_capacity(2);
        if old_key != new_key {
            batch.delete(old_key);
        }
        batch.put(new_key, encode_record(&record));
        locked.commit(batch).await?;
        Ok(())
    }
}
