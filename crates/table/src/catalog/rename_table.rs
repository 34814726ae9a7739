//! Rename Table, which the Azure service does not have.

use super::name_key;
use super::record::TableRecord;
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, TableName};
use partita_service::{decode_record, encode_record};

impl Service {
    /// Renames a table of any size with one write. ETags and access policies do not change. A request that looked up
    /// the old name earlier still reaches the table.
    ///
    /// Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::TableNotFound`]; [`Error::TableAlreadyExists`] if another table has the new name, ignoring
    /// case; [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn rename_table(
        &self,
        account: &AccountName,
        from: &TableName,
        to: &TableName,
    ) -> Result<(), Error> {
        let (old_key, new_key) = (name_key(account, from), name_key(account, to));
        // Both keys are in the same range, because a split never divides the catalog.
        let mut keys = vec![old_key.clone(), new_key.clone()];
        keys.dedup();
        let locked = self.storage().change_catalog(&keys).await?;
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
