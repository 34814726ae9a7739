//! Moves received messages to another queue: puts a message there, then deletes it where it was. An interruption between
//! the two leaves it in both queues, never in none.

use super::{failed, is_message_missing};
use crate::prelude::*;
use partita_client::{
    DateTime, MessageExpiry, QueueClient, ReceiveOptions, ReceivedMessage, SendOptions,
};
use partita_model::limits::MESSAGES_MAX;
use std::time::Duration;

/// The visibility timeout of messages while they are moved: the puts of a request's messages must end within it.
const VISIBILITY: Duration = Duration::from_secs(300);
/// Ticks of 100 ns in a second.
const TICKS: u64 = 10_000_000;

/// Moves messages from the first queue to the second, and counts them.
pub(super) struct Forwarder {
    pub(super) from: QueueClient,
    pub(super) to: QueueClient,
    pub(super) moved: u64,
}

impl Forwarder {
    pub(super) fn new(from: QueueClient, to: QueueClient) -> Self {
        Self { from, to, moved: 0 }
    }

    /// Moves visible messages, at most `count`. Messages that arrive meanwhile are moved too.
    pub(super) async fn forward_all(
        &mut self,
        count: u64,
        progress: &Progress,
    ) -> Result<(), CommandError> {
        while self.moved < count {
            let left = (count - self.moved).min(MESSAGES_MAX as u64);
            let options = ReceiveOptions {
                count: u32::try_from(left).unwrap_or(1),
                visibility_timeout: VISIBILITY,
                ..ReceiveOptions::default()
            };
            let messages = self.from.receive_messages(&options).await;
            let messages = messages.map_err(|error| failed(error, &self.from))?;
            if messages.is_empty() {
                break;
            }
            for message in &messages {
                self.forward(message).await?;
            }
            progress.bar.set_position(self.moved);
        }
        Ok(())
    }

    /// Moves one message, with the time that it has left to live.
    pub(super) async fn forward(&mut self, received: &ReceivedMessage) -> Result<(), CommandError> {
        let options = SendOptions {
            expiry: time_left(received.expires, partita_client::now()),
            ..SendOptions::default()
        };
        let put = self.to.send_message_with(&received.text, options).await;
        put.map_err(|error| failed(error, &self.to))?;
        self.moved += 1;
        match self
            .from
            .delete_message(&received.id, &received.receipt)
            .await
        {
            Ok(()) => Ok(()),
            Err(error) if is_message_missing(&error) => {
                let (id, from, to) = (&received.id, self.from.name(), self.to.name());
                message(&format!(
                    "message {id} may be in {from} and {to}: another client received it before it was moved"
                ));
                Ok(())
            }
            Err(error) => Err(failed(error, &self.from)),
        }
    }

    /// `3 messages moved from a to b`
    pub(super) fn summary(&self) -> String {
        let moved = many(self.moved, "message", "messages");
        format!(
            "{moved} moved from {} to {}",
            self.from.name(),
            self.to.name()
        )
    }
}

/// The time to live of a message that expires at `expires`: at least a second, as it has not expired yet.
fn time_left(expires: DateTime, now: DateTime) -> MessageExpiry {
    // Messages that never expire have the last second of the year 9999.
    if DateTime::MAX.ticks() - expires.ticks() < 2 * TICKS {
        return MessageExpiry::Never;
    }
    let left = expires.ticks().saturating_sub(now.ticks()) / TICKS;
    MessageExpiry::After(Duration::from_secs(left.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_messages_keep_their_expiry() {
        let at = |text: &str| DateTime::parse(text).unwrap();
        let now = at("2026-11-26T10:00:00.5Z");
        let left = |expires| time_left(at(expires), now);
        let after = |seconds| MessageExpiry::After(Duration::from_secs(seconds));
        assert_eq!(left("2026-11-26T10:01:01Z"), after(60));
        assert_eq!(left("2026-11-26T10:00:01Z"), after(1));
        assert_eq!(left("2026-11-26T09:00:00Z"), after(1));
        assert_eq!(left("9999-12-31T23:59:59Z"), MessageExpiry::Never);
        assert_eq!(time_left(DateTime::MAX, now), MessageExpiry::Never);
        assert_ne!(left("9999-12-30T00:00:00Z"), MessageExpiry::Never);
    }
}
