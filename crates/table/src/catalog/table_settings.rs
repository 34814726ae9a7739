//! Settings of a table that the Table service does not know: extensions of ours. (Reading them is [`Service::table`].)

use super::name_key;
use super::record::TableRecord;
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, TableName, TimeToLive};
use partita_service::{decode_record, encode_record};

impl Service {
    /// Sets how long the entities of a table live after their last write; without, for ever. It holds at once, for entities
    /// that are there too: those that are older are gone, and are removed in the background. Until then a longer time to live
    /// brings them back.
    ///
    /// Cancel-safe: once it writes, it is done.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn set_time_to_live(
        &self,
        account: &AccountName,
        name: &TableName,
        ttl: Option<TimeToLive>,
    ) -> Result<(), Error> {
        let key = name_key(account, name);
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let row = locked.read(&key).await?.ok_or(Error::TableNotFound)?;
        let mut record: TableRecord = decode_record(&row)?;
        record.ttl_seconds = ttl.map(TimeToLive::seconds);
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode_record(&record));
        locked.commit(batch).await?;
        self.ttl_changed().notify_one();
        Ok(())
    }
}
