//! Create Queue.

use super::queue_request::{queue_request, with_metadata};
use super::{QueueClient, QueueServiceClient};
use crate::Result;
use partita_model::Metadata;
use partita_wire::queue::Operation;
use partita_wire::{ErrorCode, Method};

/// What Create Queue did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueCreated {
    /// The queue is new.
    New,
    /// The queue existed with the same metadata. After a retry, it may be an earlier attempt that created it.
    Existed,
}

impl QueueServiceClient {
    /// Creates a queue without metadata, unless it exists without metadata.
    ///
    /// # Errors
    /// As [`QueueClient::create`].
    pub async fn create_queue(&self, name: &str) -> Result<QueueClient> {
        let queue = self.queue_client(name);
        queue.create(&Metadata::default()).await?;
        Ok(queue)
    }

    /// Creates a queue without metadata, unless it exists with any metadata.
    ///
    /// # Errors
    /// As [`QueueClient::create`], except 409 QueueAlreadyExists.
    pub async fn create_queue_if_not_exists(&self, name: &str) -> Result<QueueClient> {
        match self.create_queue(name).await {
            Err(error) if error.code() == Some(ErrorCode::QueueAlreadyExists) => {
                Ok(self.queue_client(name))
            }
            created => created,
        }
    }
}

impl QueueClient {
    /// Creates the queue. A valid name has 3 to 63 small letters, digits and single hyphens, and begins and ends with a
    /// letter or digit. Names of metadata reach the server in small letters, because they are names of HTTP headers.
    ///
    /// # Errors
    /// 409 QueueAlreadyExists if the queue exists with other metadata; 409 QueueBeingDeleted; 400 for an invalid name.
    pub async fn create(&self, metadata: &Metadata) -> Result<QueueCreated> {
        let request = queue_request(Operation::CreateQueue, Method::Put, self.path()?);
        let request = with_metadata(request, metadata)?;
        let reply = self.pipeline.send(&request).await?;
        Ok(match reply.status() {
            201 => QueueCreated::New,
            _ => QueueCreated::Existed,
        })
    }
}
