//! Set Queue Metadata. ([`Service::queue`] reads the metadata.)

use super::record::metadata_record;
use crate::{Error, Service};
use partita_model::{AccountName, Metadata, QueueName};

impl Service {
    /// Replaces the metadata of a queue. Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::QueueNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn set_queue_metadata(
        &self,
        account: &AccountName,
        name: &QueueName,
        metadata: Metadata,
    ) -> Result<(), Error> {
        self.change_queue(account, name, |record, _| {
            record.metadata = metadata_record(&metadata);
        })
        .await
    }
}
