//! Peek Messages.

use super::QueueClient;
use super::queue_request::queue_request;
use crate::Result;
use partita_model::DateTime;
use partita_wire::queue::{self, Operation, read_messages};
use partita_wire::{Failure, Method};

/// A message that was looked at. It stays visible, and cannot be updated or deleted, because it has no receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeekedMessage {
    /// The id, a GUID.
    pub id: String,
    /// The text, as it was put.
    pub text: String,
    /// When it was inserted.
    pub inserted: DateTime,
    /// When it expires; in the year 9999 if never.
    pub expires: DateTime,
    /// How often it was received.
    pub dequeue_count: u32,
}

impl QueueClient {
    /// Reads the first visible messages without receiving them; `count` is their maximum number, 1 to 32.
    ///
    /// # Errors
    /// 404 QueueNotFound; 400 for a count out of range.
    pub async fn peek_messages(&self, count: u32) -> Result<Vec<PeekedMessage>> {
        let path = self.messages_path()?;
        let request = self
            .on_messages(queue_request(Operation::PeekMessages, Method::Get, path))
            .with_parameter("numofmessages", &count.to_string())
            .with_parameter("peekonly", "true");
        let reply = self.pipeline.send(&request).await?;
        let messages = read_messages(reply.body())
            .and_then(|messages| messages.into_iter().map(PeekedMessage::of).collect());
        messages.map_err(|failure| reply.unreadable(failure))
    }
}

impl PeekedMessage {
    fn of(message: queue::ReceivedMessage) -> Result<Self, Failure> {
        Ok(Self {
            id: message.id,
            text: message.text.ok_or_else(queue::invalid_xml)?,
            inserted: message.inserted,
            expires: message.expires,
            dequeue_count: message.dequeue_count.ok_or_else(queue::invalid_xml)?,
        })
    }
}
