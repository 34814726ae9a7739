//! The catalog: the queues of an account with their metadata and access policies, and its service properties. Its rows
//! are in the same key space as the messages, see `docs/format/catalog.md`.

mod clear_messages;
mod create_queue;
mod delete_queue;
mod expire;
mod get_queue;
mod key_location;
mod list_queues;
mod queue;
mod queue_acl;
mod queue_metadata;
mod record;
mod service_properties;

pub use create_queue::Created;
pub(crate) use expire::expire;
pub use key_location::{QueueLocation, QueueNames};
pub use list_queues::{ListedQueue, QueuePage};
pub use queue::Queue;

use self::record::QueueRecord;
use crate::{Error, Service};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::{AccountName, KeyKind, KeyWriter, QueueName};
use partita_service::catalog_start;

/// The key of the record of the queue with this name.
fn queue_key(account: &str, name: &str) -> Bytes {
    KeyWriter::new(KeyKind::QUEUE, account.len() + name.len() + 1)
        .text(account)
        .last_text(name)
        .finish()
}

impl Service {
    /// The key whose server executes the operations on queues, and those on the properties of the service.
    #[must_use]
    pub fn place_of_catalog() -> Bytes {
        catalog_start()
    }

    /// The key whose server executes the operations on the messages of a queue.
    #[must_use]
    pub fn place_of_messages(queue: &Queue) -> Bytes {
        queue.space.prefix().clone()
    }

    /// Changes the record of a queue under the lock of its name. `change` may add writes in the same range to the
    /// batch.
    ///
    /// Cancel-safe: if dropped during the commit, the change still completes.
    async fn change_queue(
        &self,
        account: &AccountName,
        name: &QueueName,
        change: impl FnOnce(&mut QueueRecord, &mut Batch) + Send,
    ) -> Result<(), Error> {
        let key = queue_key(account.as_str(), name.as_str());
        let is_found = self.storage().change_record(key, change).await?;
        is_found.then_some(()).ok_or(Error::QueueNotFound)
    }
}
