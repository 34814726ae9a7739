//! Create Queue.

use super::queue_key;
use super::record::{QueueRecord, metadata_record};
use crate::{Error, Service};
use partita_engine::Batch;
use partita_model::{AccountName, Metadata, QueueName};
use partita_service::{decode_record, encode_record};

/// What Create Queue did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The queue is new.
    New,
    /// The queue existed with the same metadata.
    Existed,
}

impl Service {
    /// Creates an empty queue. Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::QueueAlreadyExists`] if it exists with other metadata, [`Error::Busy`], [`Error::OutcomeUnknown`],
    /// [`Error::Corrupt`].
    pub async fn create_queue(
        &self,
        account: &AccountName,
        name: &QueueName,
        metadata: Metadata,
    ) -> Result<Created, Error> {
        let key = queue_key(account.as_str(), name.as_str());
        let locked = self.storage().lock(std::slice::from_ref(&key)).await?;
        if let Some(row) = locked.read(&key).await? {
            let record: QueueRecord = decode_record(&row)?;
            return match record.metadata() == metadata {
                true => Ok(Created::Existed),
                false => Err(Error::QueueAlreadyExists),
            };
        }
        let record = QueueRecord {
            id: partita_rt::random::u64(),
            created: self.storage().timestamps.next().ticks(),
            metadata: metadata_record(&metadata),
            policies: Vec::new(),
        };
        let mut batch = Batch::with_capacity(1);
        batch.put(key, encode_record(&record));
        locked.commit(batch).await?;
        Ok(Created::New)
    }
}
