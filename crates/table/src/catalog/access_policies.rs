//! Set Table ACL. (Get Table ACL is [`Service::table`].)

use super::name_key;
use super::record::{PolicyRecord, TableRecord, decode, encode};
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, SignedIdentifier, TableName};

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
        let mut record: TableRecord = decode(&row)?;
        record.policies = policies.iter().map(PolicyRecord::from).collect();
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode(&record));
        locked.commit(batch).await?;
        Ok(())
    }
}
