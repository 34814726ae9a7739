//! Delete Queue.

use super::queue_request::queue_request;
use super::{QueueClient, QueueServiceClient};
use crate::Result;
use partita_wire::Method;
use partita_wire::queue::Operation;

impl QueueServiceClient {
    /// Deletes a queue with all its messages.
    ///
    /// # Errors
    /// As [`QueueClient::delete`].
    pub async fn delete_queue(&self, name: &str) -> Result<()> {
        self.queue_client(name).delete().await
    }
}

impl QueueClient {
    /// Deletes the queue with all its messages.
    ///
    /// # Errors
    /// 404 QueueNotFound, with [`crate::Outcome::MayHaveHappened`] if an earlier attempt may have deleted it.
    pub async fn delete(&self) -> Result<()> {
        let request = queue_request(Operation::DeleteQueue, Method::Delete, self.path()?);
        self.pipeline.send(&request).await?;
        Ok(())
    }
}
