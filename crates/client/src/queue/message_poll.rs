//! Waits for messages: by long polling, or by polling with a growing pause.
//!
//! ```text
//! Partita: ask for a wait of 20 s ──────── the answer comes with the first message ──▶ messages
//! others:  ask ─ none ─ 50 ms ─ ask ─ none ─ 100 ms ─ … ─ 1 s ─ ask ─────────────────▶ messages
//! ```
//! The two are told apart by the time that an empty answer takes. So the client also pauses if a server shortens the
//! wait, as it may do under load.

use super::{QueueClient, ReceiveOptions, ReceivedMessage};
use crate::Result;
use std::time::{Duration, Instant};

/// The first pause after an empty answer that came at once.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest pause. A message waits half of it on average, which is short compared to usual processing times.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Receives messages as they arrive.
#[derive(Debug, Clone)]
pub struct MessagePoll {
    queue: QueueClient,
    options: ReceiveOptions,
    pause: Duration,
}

impl QueueClient {
    /// Waits for messages, with [`ReceiveOptions::wait`] as the longest wait of one request: 20 s is best.
    ///
    /// ```
    /// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/server.rs")); }
    /// # server::on_a_server(async |connection_string| {
    /// # use partita_client::*;
    /// # let service = QueueServiceClient::from_connection_string(&connection_string)?;
    /// # let queue = service.create_queue("jobs").await?;
    /// # queue.send_message("one").await?;
    /// let wait = std::time::Duration::from_secs(20);
    /// let mut poll = queue.poll_messages(ReceiveOptions { count: 32, wait, ..ReceiveOptions::default() });
    /// for message in poll.next().await? {
    ///     println!("{}", message.text);
    ///     queue.delete_message(&message.id, &message.receipt).await?;
    /// }
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn poll_messages(&self, options: ReceiveOptions) -> MessagePoll {
        MessagePoll {
            queue: self.clone(),
            options,
            pause: PAUSE_MIN,
        }
    }
}

impl MessagePoll {
    /// Waits for messages; returns at least one. Cancellation: messages that were received are hidden until their
    /// timeout.
    ///
    /// # Errors
    /// As [`QueueClient::receive_messages`]. The next call continues.
    pub async fn next(&mut self) -> Result<Vec<ReceivedMessage>> {
        self.next_up_to(self.options.count).await
    }

    /// Like [`Self::next`], with another maximum number of messages, 1 to 32.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn next_up_to(&mut self, count: u32) -> Result<Vec<ReceivedMessage>> {
        let options = ReceiveOptions {
            count,
            ..self.options
        };
        loop {
            let begun = Instant::now();
            let messages = self.queue.receive_messages(&options).await?;
            if !messages.is_empty() {
                self.pause = PAUSE_MIN;
                return Ok(messages);
            }
            let wait = self.queue.server_wait(&options);
            if wait.is_zero() || begun.elapsed() < wait {
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(PAUSE_MAX);
            }
        }
    }
}
