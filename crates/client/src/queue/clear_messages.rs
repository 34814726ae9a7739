//! Clear Messages.

use super::QueueClient;
use super::queue_request::queue_request;
use crate::Result;
use partita_wire::Method;
use partita_wire::queue::Operation;

impl QueueClient {
    /// Deletes all messages of the queue, also the hidden ones.
    ///
    /// # Errors
    /// 404 QueueNotFound; 403 with a queue SAS. The service may answer 500 OperationTimedOut for a large queue, of which
    /// it has then deleted a part; the client retries this.
    pub async fn clear_messages(&self) -> Result<()> {
        let path = self.messages_path()?;
        let request = queue_request(Operation::ClearMessages, Method::Delete, path);
        self.pipeline.send(&request).await?;
        Ok(())
    }
}
