//! Removes expired messages in the background.
//!
//! A receive removes the expired messages that it meets, and no request returns one; this module frees the space of
//! those that nothing receives. The header of a queue has a time before which no message expires. Only when that time
//! has come, a walk reads the messages of the queue, removes the expired ones, and sets the time to the earliest expiry
//! of the others.
//!
//! Each server walks the queues that it serves, because their groups know the header. It reads the list of all queues
//! where the catalog is served.

use super::Queue;
use crate::group::{Request, WriteSize};
use crate::rows::MessageRow;
use crate::{Error, Service};
use partita_model::MessagePosition;
use partita_rt::Shutdown;
use partita_service::RowWalk;
use std::sync::Arc;
use std::time::Duration;

/// The time between two checks of which queues are due for a walk.
const POLL: Duration = Duration::from_secs(60);

/// Runs until shutdown.
pub(crate) async fn expire(service: Arc<Service>, shutdown: Shutdown) {
    loop {
        tokio::select! {
            () = shutdown.requested() => return,
            () = tokio::time::sleep(POLL) => {}
        }
        if let Err(error) = service.remove_expired_messages(&shutdown).await {
            tracing::warn!(%error, "failed to remove expired messages; will retry");
        }
    }
}

impl Service {
    /// Walks the queues of this process that are due, and returns the number of removed messages. A failed queue does not delay others.
    pub(crate) async fn remove_expired_messages(
        &self,
        shutdown: &Shutdown,
    ) -> Result<usize, Error> {
        let mut queues = Vec::new();
        self.each_queue(|queue| {
            queues.push(queue);
            true
        })
        .await?;
        let mut removed = 0;
        for queue in queues {
            if shutdown.is_requested() {
                break;
            }
            if !self.storage().is_here(&Self::place_of_messages(&queue)) {
                continue;
            }
            match self.remove_expired_of(&queue, shutdown).await {
                Ok(0) => {}
                Ok(messages) => {
                    let (account, queue) = (&queue.account, &queue.name);
                    tracing::info!(account, queue, messages, "removed expired messages");
                    removed += messages;
                }
                Err(error) => {
                    let (account, queue) = (&queue.account, &queue.name);
                    tracing::warn!(account, queue, %error, "failed to remove expired messages; will retry");
                }
            }
        }
        Ok(removed)
    }

    async fn remove_expired_of(&self, queue: &Queue, shutdown: &Shutdown) -> Result<usize, Error> {
        let now = self.now();
        let header = self.header(queue).await?;
        if header.first_expiry > now.ticks() {
            return Ok(0);
        }
        let none = WriteSize::default();
        self.execute_uncharged(queue, none, Request::BeginExpiry)
            .await?;
        let (mut removed, mut earliest) = (0, u64::MAX);
        let start = queue.space.message(MessagePosition::START);
        let mut walk = RowWalk::new(self.storage(), start, queue.space.messages_end());
        while let Some(rows) = walk.next().await? {
            if shutdown.is_requested() {
                return Ok(removed);
            }
            let mut expired = Vec::new();
            for (key, row) in rows.iter() {
                let (position, row) = (queue.space.position(key)?, MessageRow::decode(row)?);
                if row.is_expired(now) {
                    expired.push(position);
                } else {
                    earliest = earliest.min(row.expires.ticks());
                }
            }
            if !expired.is_empty() {
                let size = WriteSize::of_rows(expired.len());
                let removing = |reply| Request::RemoveExpired(expired, reply);
                removed += self.execute_uncharged(queue, size, removing).await?;
            }
        }
        self.execute_uncharged(queue, none, |reply| Request::EndExpiry(earliest, reply))
            .await?;
        Ok(removed)
    }
}
