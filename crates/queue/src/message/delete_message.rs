//! Delete Message.

use super::values::MessageRef;
use crate::group::{Request, WriteSize};
use crate::{Error, Queue, Service};

impl Service {
    /// Removes a message. Cancel-safe: if dropped, the message may still be removed.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn delete_message(&self, queue: &Queue, message: MessageRef) -> Result<(), Error> {
        self.execute(queue, WriteSize::of_rows(1), |reply| {
            Request::Delete(message, reply)
        })
        .await
    }
}
