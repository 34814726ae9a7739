//! Get Messages.

use super::values::Message;
use crate::group::{Received, Request, WriteSize};
use crate::{Error, Queue, Service};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Instant, timeout_at};

/// The time after which a receive that waits looks up its queue again, in a process with far rows.
const LOOK_UP_PAUSE: Duration = Duration::from_secs(1);

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

    /// Like [`Self::get_messages`], but waits at most `wait`, and not after `ended` completes, for a message if none is
    /// visible. It looks once more before it returns none. It also waits for the messages that come after the queue was
    /// cleared.
    ///
    /// # Errors
    /// Those of [`Self::get_messages`]; [`Error::QueueNotFound`] if the queue is deleted meanwhile.
    pub async fn get_messages_within(
        &self,
        queue: &Queue,
        count: usize,
        visibility_timeout: Duration,
        wait: Duration,
        ended: impl Future<Output = ()>,
    ) -> Result<Vec<Message>, Error> {
        let mut deadline = Instant::now() + wait;
        let mut ended = pin!(ended);
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
            let left = deadline.saturating_duration_since(Instant::now());
            let received = self
                .receive(&queue, count, visibility_timeout, left)
                .await?;
            let now = Instant::now();
            if !received.messages.is_empty() || now >= deadline {
                return Ok(received.messages);
            }
            let hidden = received.next_visible.map(|span| now + span);
            let until = hidden.unwrap_or(deadline).min(deadline);
            tokio::select! {
                biased;
                waited = self.wait(&queue, arrival, until) => waited?,
                () = &mut ended => deadline = now,
            }
        }
    }

    /// Waits for an arrival, or until the queue was changed by another server or its messages moved to another server:
    /// neither wakes a receive here.
    async fn wait(
        &self,
        queue: &Queue,
        mut arrival: Pin<&mut OwnedNotified>,
        until: Instant,
    ) -> Result<(), Error> {
        if !self.storage().has_far_rows() {
            let _ = timeout_at(until, arrival).await;
            return Ok(());
        }
        while Instant::now() < until {
            let pause_end = until.min(Instant::now() + LOOK_UP_PAUSE);
            let is_arrived = timeout_at(pause_end, arrival.as_mut()).await.is_ok();
            let is_same = match self.find_queue(&queue.account, &queue.name).await {
                Ok(current) => current.id == queue.id,
                // The catalog is in transit: the next look-up tells.
                Err(Error::Busy(_)) => true,
                Err(error) => return Err(error),
            };
            let is_here = self.storage().is_here(queue.space.prefix());
            if is_arrived || !is_same || !is_here {
                break;
            }
        }
        Ok(())
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
