//! Get Messages.

use super::values::Message;
use crate::group::{Received, Request, WriteSize};
use crate::{Error, Queue, Service};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

impl Service {
    /// Receives at most `count` visible messages, in the order in which they became visible, and hides them for
    /// `visibility_timeout`. Returns none if none is visible. Cancel-safe: dropped before its group is executed it
    /// receives nothing; later, messages may still be hidden.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn get_messages(
        &self,
        queue: &Queue,
        count: usize,
        visibility_timeout: Duration,
    ) -> Result<Vec<Message>, Error> {
        let none = Duration::ZERO;
        let received = self.receive(queue, count, visibility_timeout, none).await?;
        Ok(received.messages)
    }

    /// Like [`Self::get_messages`], but waits at most `wait` for a message if none is visible. It also waits for the
    /// messages that come after the queue was cleared.
    ///
    /// # Errors
    /// Those of [`Self::get_messages`]; [`Error::QueueNotFound`] if the queue is deleted meanwhile.
    pub async fn get_messages_within(
        &self,
        queue: &Queue,
        count: usize,
        visibility_timeout: Duration,
        wait: Duration,
    ) -> Result<Vec<Message>, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        let mut queue = Arc::new(queue.clone());
        loop {
            let open = self.open_queue(&queue);
            // Before the messages are read, so that none is missed between reading and waiting.
            let mut arrival = pin!(open.arrival());
            arrival.as_mut().enable();
            let current = self.find_queue(&queue.account, &queue.name).await?;
            if current.id != queue.id {
                queue = current;
                continue;
            }
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            let received = self
                .receive(&queue, count, visibility_timeout, left)
                .await?;
            let now = tokio::time::Instant::now();
            if !received.messages.is_empty() || now >= deadline {
                return Ok(received.messages);
            }
            let hidden = received.next_visible.map(|span| now + span);
            let until = hidden.unwrap_or(deadline).min(deadline);
            let _ = tokio::time::timeout_at(until, arrival).await;
        }
    }

    async fn receive(
        &self,
        queue: &Queue,
        count: usize,
        visibility_timeout: Duration,
        wait: Duration,
    ) -> Result<Received, Error> {
        let get = |reply| Request::Get {
            count,
            visibility_timeout,
            wait,
            reply,
        };
        let size = WriteSize::of_rows(count);
        let mut received = self.execute(queue, size, get).await?;
        while received.is_cut && received.messages.is_empty() {
            received = self.execute_uncharged(queue, size, get).await?;
        }
        Ok(received)
    }
}
