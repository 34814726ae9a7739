//! Update Message.

use super::values::{Message, UpdateMessage};
use crate::group::{Request, WriteSize};
use crate::{Error, Queue, Service};
use bytes::Bytes;

impl Service {
    /// Changes when a message becomes visible, and optionally its text. The result has the new receipt. Cancel-safe: if
    /// dropped, the change may still be made.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`], [`Error::VisibilityAfterExpiry`], [`Error::Busy`], [`Error::OutcomeUnknown`],
    /// [`Error::Corrupt`].
    pub async fn update_message(
        &self,
        queue: &Queue,
        update: UpdateMessage,
    ) -> Result<Message, Error> {
        let size = WriteSize::of_text(update.text.as_ref().map_or(0, Bytes::len));
        self.execute(queue, size, |reply| Request::Update(update, reply))
            .await
    }
}
