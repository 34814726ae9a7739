//! Requests that wait for their group.

use crate::Error;
use crate::message::{Message, MessageRef, PutMessage, UpdateMessage};
use partita_model::MessagePosition;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Where the result of a request goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// A request on the messages of a queue.
#[derive(Debug)]
pub(crate) enum Request {
    Put(PutMessage, Reply<Message>),
    Get {
        count: usize,
        visibility_timeout: Duration,
        /// How long the caller will wait for an arrival if no message is visible.
        wait: Duration,
        reply: Reply<Received>,
    },
    Update(UpdateMessage, Reply<Message>),
    Delete(MessageRef, Reply<()>),
    /// A walk over all messages begins, to remove the expired ones.
    BeginExpiry(Reply<()>),
    /// Removes the expired messages among these.
    RemoveExpired(Vec<MessagePosition>, Reply<usize>),
    /// The walk has ended: the messages that were there when it began, and did not move since, expire at this time
    /// (ticks) or later.
    EndExpiry(u64, Reply<()>),
}

/// The result of a receive.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) messages: Vec<Message>,
    /// If no message is visible: the time in which none becomes visible; `None` if there are no messages.
    pub(crate) next_visible: Option<Duration>,
    /// Whether it stopped before it had looked at all visible messages, because too many had expired.
    pub(crate) is_cut: bool,
}

/// The size of a request: what it may write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteSize {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

impl WriteSize {
    /// One message with a new text of this length; 0 if it has no new text.
    pub(crate) const fn of_text(bytes: usize) -> Self {
        Self { rows: 1, bytes }
    }

    /// This number of messages, without new texts.
    pub(crate) const fn of_rows(rows: usize) -> Self {
        Self { rows, bytes: 0 }
    }
}

/// A waiting request.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) request: Request,
    pub(crate) size: WriteSize,
    pub(crate) arrived: Instant,
}
