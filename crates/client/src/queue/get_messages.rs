//! Get Messages.

use super::QueueClient;
use super::queue_request::{queue_request, seconds};
use crate::{Error, Outcome, Result};
use http::header::HeaderName;
use partita_model::DateTime;
use partita_wire::queue::{self, Operation, read_messages};
use partita_wire::{Failure, Method};
use std::time::Duration;

/// How long a server may wait for a message: Partita's extension of Get Messages.
const WAIT_SECONDS: HeaderName = HeaderName::from_static("x-partita-wait-seconds");
/// The longest wait of a server.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Options of receiving messages. `..ReceiveOptions::default()` fills the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveOptions {
    /// The maximum number of messages, 1 to 32. Default: 1.
    pub count: u32,
    /// How long the messages are hidden from other receivers, rounded up to whole seconds; 1 s to seven days. Default:
    /// 30 s.
    pub visibility_timeout: Duration,
    /// How long the server may wait for the first message, in whole seconds up to 20, and up to half of the client's
    /// timeouts. Only Partita waits; other servers answer at once. Default: zero.
    pub wait: Duration,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self {
            count: 1,
            visibility_timeout: Duration::from_secs(30),
            wait: Duration::ZERO,
        }
    }
}

/// A message that was received, and is hidden from other receivers until `next_visible`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// The id, a GUID.
    pub id: String,
    /// The text, as it was put.
    pub text: String,
    /// When it was inserted.
    pub inserted: DateTime,
    /// When it expires; in the year 9999 if never.
    pub expires: DateTime,
    /// The pop receipt, for [`QueueClient::update_message`] and [`QueueClient::delete_message`]. It is valid until
    /// another receiver gets the message.
    pub receipt: String,
    /// When it becomes visible again.
    pub next_visible: DateTime,
    /// How often it was received, this time included.
    pub dequeue_count: u32,
}

impl QueueClient {
    /// Receives messages, and hides them for a time. Returns none if none is visible; [`Self::poll_messages`] waits for
    /// some.
    ///
    /// A retry after a lost answer receives other messages; those of the lost answer are hidden until their timeout.
    /// Cancellation: the same.
    ///
    /// # Errors
    /// 404 QueueNotFound; 400 for options out of range.
    pub async fn receive_messages(&self, options: &ReceiveOptions) -> Result<Vec<ReceivedMessage>> {
        let path = self.messages_path()?;
        let mut request = self
            .on_messages(queue_request(Operation::GetMessages, Method::Get, path))
            .with_parameter("numofmessages", &options.count.to_string())
            .with_parameter("visibilitytimeout", &seconds(options.visibility_timeout));
        let wait = self.server_wait(options).as_secs();
        if wait > 0 {
            request = request.with_header(WAIT_SECONDS, wait.to_string());
        }
        let reply = self.pipeline.send(&request).await?;
        let messages = read_messages(reply.body())
            .and_then(|messages| messages.into_iter().map(ReceivedMessage::of).collect());
        messages
            .map_err(|failure| reply.failed(Error::unreadable(failure), Outcome::MayHaveHappened))
    }

    /// How long a server that can wait is asked to, in whole seconds.
    pub(super) fn server_wait(&self, options: &ReceiveOptions) -> Duration {
        let wait = options.wait.min(WAIT_MAX);
        Duration::from_secs(wait.min(self.pipeline.server_wait_max()).as_secs())
    }
}

impl ReceivedMessage {
    fn of(message: queue::ReceivedMessage) -> Result<Self, Failure> {
        Ok(Self {
            id: message.id,
            text: message.text.ok_or_else(queue::invalid_xml)?,
            inserted: message.inserted,
            expires: message.expires,
            receipt: message.receipt.ok_or_else(queue::invalid_xml)?,
            next_visible: message.next_visible.ok_or_else(queue::invalid_xml)?,
            dequeue_count: message.dequeue_count.ok_or_else(queue::invalid_xml)?,
        })
    }
}
