//! Create Table.

use super::name_key;
use super::record::TableRecord;
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, TableName};
use partita_service::encode_record;

impl Service {
    /// Creates an empty table. Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::TableAlreadyExists`], [`Error::Busy`], [`Error::OutcomeUnknown`].
    pub async fn create_table(&self, account: &AccountName, name: &TableName) -> Result<(), Error> {
        let key = name_key(account, name);
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        if locked.read(&key).await?.is_some() {
            return Err(Error::TableAlreadyExists);
        }
        let record = TableRecord {
            id: partita_rt::random::u64(),
            name: name.as_str().to_owned(),
            created: self.timestamps().next().ticks(),
            policies: Vec::new(),
            ttl_seconds: None,
        };
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode_record(&record));
        locked.commit(batch).await?;
        Ok(())
    }
}
