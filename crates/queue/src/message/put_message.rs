//! Put Message.

use super::values::{Message, PutMessage};
use crate::group::{Request, WriteSize};
use crate::{Error, Queue, Service};

impl Service {
    /// Adds a message, durably. Its receipt is valid at once. Cancel-safe: if dropped, the message may still be added.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn put_message(&self, queue: &Queue, message: PutMessage) -> Result<Message, Error> {
        let size = WriteSize::of_text(message.text.len());
        self.execute(queue, size, |reply| Request::Put(message, reply))
            .await
    }
}
