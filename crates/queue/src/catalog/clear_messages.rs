//! Clear Messages: one write gives the queue a new id, and with it new rows; the sweep removes the old ones.

use crate::{Error, Service};
use partita_model::{AccountName, QueueName};

impl Service {
    /// Removes all messages of a queue, however many there are. A request that runs at the same time is executed before
    /// it. Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::QueueNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn clear_messages(
        &self,
        account: &AccountName,
        name: &QueueName,
    ) -> Result<(), Error> {
        let now = self.now();
        let mut cleared = 0;
        self.change_queue(account, name, |record, batch| {
            let (key, dropped) = self.dropped.row(account, record.id, name.as_str(), now);
            batch.put(key, dropped);
            cleared = std::mem::replace(&mut record.id, partita_rt::random::u64());
        })
        .await?;
        self.dropped.notify();
        self.wake_receives(account, cleared);
        Ok(())
    }
}
