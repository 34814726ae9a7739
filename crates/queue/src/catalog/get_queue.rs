//! Looks up a queue, and reads the number of its messages: Get Queue Metadata, Get Queue ACL.

use super::{Queue, queue_key};
use crate::rows::Header;
use crate::{Error, Service};
use partita_model::{AccountName, QueueName};
use std::sync::Arc;

impl Service {
    /// The queue with this name.
    ///
    /// # Errors
    /// [`Error::QueueNotFound`], [`Error::Busy`], [`Error::Corrupt`].
    pub async fn queue(
        &self,
        account: &AccountName,
        name: &QueueName,
    ) -> Result<Arc<Queue>, Error> {
        self.find_queue(account.as_str(), name.as_str()).await
    }

    pub(crate) async fn find_queue(&self, account: &str, name: &str) -> Result<Arc<Queue>, Error> {
        let key = queue_key(account, name);
        let row = self.storage().catalog_row(&key).await?;
        let row = row.ok_or(Error::QueueNotFound)?;
        if let Some(queue) = self.memo.find(&key, &row) {
            return Ok(queue);
        }
        let queue = Queue::from_row(account, name, &row)?;
        let queue = Arc::new(queue);
        self.memo.keep(key, row, &queue);
        Ok(queue)
    }

    /// The number of messages in a queue, also hidden ones; never below the truth. Expired messages count until they
    /// are removed.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn message_count(&self, queue: &Queue) -> Result<u64, Error> {
        Ok(self.header(queue).await?.messages)
    }

    pub(crate) async fn header(&self, queue: &Queue) -> Result<Header, Error> {
        let key = queue.space.header();
        if !self.storage().is_here(&key) {
            return Header::decode(self.storage().get(&key).await?.as_deref());
        }
        // Directly from the engine: the header changes with every write, so it would be cached in vain.
        let range = self.storage().route(&key)?.range;
        Header::decode(range.engine().get(&key).await?.as_deref())
    }
}
