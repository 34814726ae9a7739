//! Get and Set Queue Metadata.

use super::QueueClient;
use super::queue_request::{queue_request, with_metadata};
use crate::Result;
use partita_model::Metadata;
use partita_wire::Method;
use partita_wire::queue::{Operation, read_metadata};

/// The metadata of a queue and the number of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueProperties {
    /// The metadata. Names are in small letters, because they are names of HTTP headers.
    pub metadata: Metadata,
    /// The number of messages with the hidden ones. It can include expired messages, so the real number may be smaller.
    pub message_count_max: u64,
}

impl QueueClient {
    /// Reads metadata and message count.
    ///
    /// # Errors
    /// 404 QueueNotFound.
    pub async fn get_properties(&self) -> Result<QueueProperties> {
        let request = queue_request(Operation::GetQueueMetadata, Method::Get, self.path()?)
            .with_parameter("comp", "metadata");
        let reply = self.pipeline.send(&request).await?;
        let headers = reply.headers().iter();
        let headers =
            headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let metadata = read_metadata(headers).map_err(|failure| reply.unreadable(failure))?;
        let count = reply.header("x-ms-approximate-messages-count");
        let count = count.and_then(|count| count.trim().parse().ok());
        Ok(QueueProperties {
            metadata,
            message_count_max: count.ok_or_else(|| {
                let source = "the answer has no valid x-ms-approximate-messages-count";
                reply.unreadable(std::io::Error::other(source))
            })?,
        })
    }

    /// Replaces the metadata. Names reach the server in small letters, because they are names of HTTP headers.
    ///
    /// # Errors
    /// 404 QueueNotFound; 403 with a queue SAS.
    pub async fn set_metadata(&self, metadata: &Metadata) -> Result<()> {
        let request = queue_request(Operation::SetQueueMetadata, Method::Put, self.path()?)
            .with_parameter("comp", "metadata");
        let request = with_metadata(request, metadata)?;
        self.pipeline.send(&request).await?;
        Ok(())
    }
}
