//! Set Table ACL. (Get Table ACL is [`Service::table`].)

use super::name_key;
use super::record::TableRecord;
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, SignedIdentifier, TableName};
use partita_service::{PolicyRecord, decode_record, encode_record};

impl Service {
    /// Replaces a table's stored access policies, from then on. Cancel-safe: once it writes, it is done.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn set_access_policies(
        &self,
        account: &AccountName,
        name: &TableName,
        policies: &[SignedIdentifier],
    ) -> Result<(), Error> {
        let key = name_key(account, name);
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let row = locked.read(&key).await?.ok_or(Error::TableNotFound)?;
        let mut record: TableRecord = decode_record(&row)?;
        record.policies = policies.iter().map(PolicyRecord::from).collect();
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode_record(&record));
        locked.commit(batch).await?;
        Ok(())
    }
}
