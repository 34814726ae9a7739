//! Delete Queue: one write removes the queue from the catalog; the sweep removes its rows.

use super::queue_key;
use super::record::QueueRecord;
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, QueueName};
use partita_service::decode_record;

impl Service {
    /// Deletes a queue with all its messages. The name is free immediately. Cancel-safe: if dropped during the commit,
    /// the change still completes.
    ///
    /// # Errors
    /// [`Error::QueueNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn delete_queue(&self, account: &AccountName, name: &QueueName) -> Result<(), Error> {
        let key = queue_key(account.as_str(), name.as_str());
        let keys = std::slice::from_ref(&key);
        let locked = self.storage().change_catalog(keys).await?;
        let row = locked.read(&key).await?.ok_or(Error::QueueNotFound)?;
        let record: QueueRecord = decode_record(&row)?;
        let (dropped_key, dropped) =
            self.dropped
                .row(account, record.id, name.as_str(), self.now());
        let mut batch = Batch::with_capacity(2);
        batch.delete(key);
        // Both keys are in the same range, because a split never divides the catalog.
        batch.put(dropped_key, dropped);
        locked.commit(batch).await?;
        self.dropped.notify();
        self.wake_receives(account, record.id);
        Ok(())
    }
}
