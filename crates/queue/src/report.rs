//! How full the queues are, for operators.

use crate::rows::MessageRow;
use crate::{Error, Queue, Service};
use partita_engine::ScanHint;
use partita_service::RowWalk;
use std::time::Duration;

/// A queue as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueReport {
    /// The account.
    pub account: String,
    /// The queue.
    pub queue: String,
    /// The number of messages, also hidden ones, and expired ones that are not removed yet.
    pub messages: u64,
    /// The time since the put of the message that is the next to be received, or the next to become visible; `None` for
    /// an empty queue.
    pub next_message_age: Option<Duration>,
}

impl Service {
    /// The queues of this server with the most messages, at most `limit`, the fullest first, and the number of its
    /// queues. Reads the header of each. In a cluster, other servers have other queues.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn queue_reports(&self, limit: usize) -> Result<(Vec<QueueReport>, usize), Error> {
        let mut queues = Vec::new();
        self.each_queue(|queue| {
            if self.storage().is_here(&queue.space.header()) {
                queues.push(queue);
            }
            true
        })
        .await?;
        let mut counted = Vec::with_capacity(queues.len());
        for queue in queues {
            counted.push((self.message_count(&queue).await?, queue));
        }
        let all = counted.len();
        // A stable sort: queues with equal counts stay in the order of their names.
        counted.sort_by_key(|(messages, _)| std::cmp::Reverse(*messages));
        counted.truncate(limit);
        let mut reports = Vec::with_capacity(counted.len());
        for (messages, queue) in counted {
            reports.push(QueueReport {
                next_message_age: self.next_message_age(&queue).await?,
                account: queue.account,
                queue: queue.name,
                messages,
            });
        }
        Ok((reports, all))
    }

    async fn next_message_age(&self, queue: &Queue) -> Result<Option<Duration>, Error> {
        let first = self.header(queue).await?.first;
        let start = queue.space.message(first);
        let walk = RowWalk::new(self.storage(), start, queue.space.messages_end());
        let rows = walk.with_hint(ScanHint::page(1)).next().await?;
        let Some((_, row)) = rows.as_ref().and_then(|rows| rows.get(0)) else {
            return Ok(None);
        };
        let inserted = MessageRow::decode(row)?.inserted;
        let ticks = self.now().ticks().saturating_sub(inserted.ticks());
        Ok(Some(Duration::from_nanos(ticks.saturating_mul(100))))
    }
}
