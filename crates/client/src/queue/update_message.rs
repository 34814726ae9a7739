//! Update Message.

use super::QueueClient;
use super::put_message::message_body;
use super::queue_request::{queue_request, seconds};
use crate::request::XML;
use crate::{Error, Outcome, Result};
use partita_model::DateTime;
use partita_wire::queue::Operation;
use partita_wire::{Method, parse_http_date};
use std::time::Duration;

/// A message that was updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatedMessage {
    /// The new pop receipt; the old one is no longer valid.
    pub receipt: String,
    /// When the message becomes visible.
    pub next_visible: DateTime,
}

impl QueueClient {
    /// Hides a message for `visibility_timeout` from now on, rounded up to whole seconds, and replaces its text if
    /// there is a `text`. Zero makes it visible at once; a longer time extends the lease of its receiver. The dequeue
    /// count does not change.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Input`] as [`Self::send_message_with`]; 404 MessageNotFound if the receipt is no longer
    /// valid, with [`crate::Outcome::MayHaveHappened`] if an earlier attempt may have replaced it; 404 QueueNotFound;
    /// 400 for a timeout of more than seven days, or after the message expires.
    pub async fn update_message(
        &self,
        id: &str,
        receipt: &str,
        visibility_timeout: Duration,
        text: Option<&str>,
    ) -> Result<UpdatedMessage> {
        let path = self.message_path(id)?;
        let mut request = self
            .on_messages(queue_request(Operation::UpdateMessage, Method::Put, path))
            .with_parameter("popreceipt", receipt)
            .with_parameter("visibilitytimeout", &seconds(visibility_timeout));
        if let Some(text) = text {
            request = request.with_body(XML, message_body(text)?);
        }
        let reply = self.pipeline.send(&request).await?;
        let receipt = reply.header("x-ms-popreceipt");
        let next_visible = reply
            .header("x-ms-time-next-visible")
            .and_then(parse_http_date);
        match (receipt, next_visible) {
            (Some(receipt), Some(next_visible)) => Ok(UpdatedMessage {
                receipt: receipt.to_owned(),
                next_visible,
            }),
            _ => {
                let source = "the answer has no valid x-ms-popreceipt and x-ms-time-next-visible";
                let error = Error::unreadable(std::io::Error::other(source));
                Err(reply.failed(error, Outcome::MayHaveHappened))
            }
        }
    }
}
