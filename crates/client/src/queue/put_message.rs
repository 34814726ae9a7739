//! Put Message.

use super::QueueClient;
use super::queue_request::{queue_request, seconds};
use crate::request::XML;
use crate::{Error, Outcome, Result};
use partita_model::DateTime;
use partita_wire::queue::{self, Operation, read_messages, write_message};
use partita_wire::{Failure, Method};
use std::time::Duration;

/// How long a message exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageExpiry {
    /// Seven days, the service's default.
    #[default]
    Usual,
    /// This time, rounded up to whole seconds. It must be longer than the visibility timeout.
    After(Duration),
    /// Until it is deleted.
    Never,
}

/// Options of a new message. The default is visible at once, for seven days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// How long the message is hidden, rounded up to whole seconds; at most seven days. Default: zero.
    pub visibility_timeout: Duration,
    /// How long the message exists. Default: seven days.
    pub expiry: MessageExpiry,
}

/// A message that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// The id, a GUID.
    pub id: String,
    /// When it was inserted.
    pub inserted: DateTime,
    /// When it expires; in the year 9999 if never.
    pub expires: DateTime,
    /// The pop receipt, with which the message can be updated and deleted at once.
    pub receipt: String,
    /// When it becomes visible.
    pub next_visible: DateTime,
}

impl QueueClient {
    /// Puts a message with the default options: visible at once, for seven days.
    ///
    /// # Errors
    /// As [`Self::send_message_with`].
    pub async fn send_message(&self, text: &str) -> Result<SentMessage> {
        self.send_message_with(text, SendOptions::default()).await
    }

    /// Puts a message. The text is stored as it is; some clients, such as Azure Functions, expect Base64.
    ///
    /// A retry after an attempt that may have happened can put the message twice, as with the official SDKs.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] for a text of more than 64 KiB, or with a character that XML does not allow; 404
    /// QueueNotFound; 400 for options out of range.
    pub async fn send_message_with(&self, text: &str, options: SendOptions) -> Result<SentMessage> {
        let mut request = self
            .on_messages(queue_request(
                Operation::PutMessage,
                Method::Post,
                self.messages_path()?,
            ))
            .with_body(XML, message_body(text)?);
        if !options.visibility_timeout.is_zero() {
            let timeout = seconds(options.visibility_timeout);
            request = request.with_parameter("visibilitytimeout", &timeout);
        }
        request = match options.expiry {
            MessageExpiry::Usual => request,
            MessageExpiry::After(time) => request.with_parameter("messagettl", &seconds(time)),
            MessageExpiry::Never => request.with_parameter("messagettl", "-1"),
        };
        let reply = self.pipeline.send(&request).await?;
        let sent = read_messages(reply.body()).and_then(|messages| {
            let message = messages.into_iter().next();
            SentMessage::of(message.ok_or_else(queue::invalid_xml)?)
        });
        sent.map_err(|failure| reply.failed(Error::unreadable(failure), Outcome::MayHaveHappened))
    }
}

impl SentMessage {
    fn of(message: queue::ReceivedMessage) -> Result<Self, Failure> {
        Ok(Self {
            id: message.id,
            inserted: message.inserted,
            expires: message.expires,
            receipt: message.receipt.ok_or_else(queue::invalid_xml)?,
            next_visible: message.next_visible.ok_or_else(queue::invalid_xml)?,
        })
    }
}

/// The body with the text of a message.
pub(super) fn message_body(text: &str) -> Result<Vec<u8>> {
    write_message(text).map_err(|failure| {
        let message = "a message has at most 64 KiB of text, of characters that XML allows";
        Error::input(message).caused_by(failure)
    })
}
