//! Delete Message.

use super::QueueClient;
use super::queue_request::queue_request;
use crate::Result;
use partita_wire::queue::Operation;
use partita_wire::{ErrorCode, Method};

impl QueueClient {
    /// Deletes a message that was received or put, with its current receipt.
    ///
    /// If an earlier attempt may have deleted it, 404 MessageNotFound counts as deleted. In the rare case that another
    /// receiver got the message between the attempts, that receiver has it.
    ///
    /// # Errors
    /// 404 MessageNotFound if the message is gone or the receipt is no longer valid; 404 QueueNotFound; 400 for a text
    /// that is not a receipt.
    pub async fn delete_message(&self, id: &str, receipt: &str) -> Result<()> {
        let path = self.message_path(id)?;
        let request = self
            .on_messages(queue_request(
                Operation::DeleteMessage,
                Method::Delete,
                path,
            ))
            .with_parameter("popreceipt", receipt);
        match self.pipeline.send(&request).await {
            Ok(_) => Ok(()),
            Err(error)
                if error.is_ambiguous() && error.code() == Some(ErrorCode::MessageNotFound) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
