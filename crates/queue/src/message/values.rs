//! The arguments and results of the operations on messages.

use super::pop_receipt::PopReceipt;
use crate::rows::MessageRow;
use bytes::Bytes;
use partita_model::{DateTime, Guid, MessagePosition};
use std::time::Duration;

/// A message to put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutMessage {
    /// The text, UTF-8, at most [`partita_model::limits::MESSAGE_BYTES_MAX`].
    pub text: Bytes,
    /// How long the message is hidden first.
    pub visibility_timeout: Duration,
    /// The time until the message expires, longer than the visibility timeout; `None` for never.
    pub time_to_live: Option<Duration>,
}

/// A change of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateMessage {
    /// The message.
    pub message: MessageRef,
    /// How long the message is hidden from now on; zero makes it visible.
    pub visibility_timeout: Duration,
    /// The new text; `None` keeps the text.
    pub text: Option<Bytes>,
}

/// A message, as an operation returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: Guid,
    /// When it was put.
    pub inserted: DateTime,
    /// When it expires; [`DateTime::MAX`] for never.
    pub expires: DateTime,
    /// The receipt for its next update or deletion.
    pub receipt: PopReceipt,
    /// When it becomes visible.
    pub next_visible: DateTime,
    /// How often it was received.
    pub dequeue_count: u32,
    /// Its text, UTF-8.
    pub text: Bytes,
}

impl Message {
    /// The message at a position, with its text.
    pub(crate) fn new(position: MessagePosition, row: &MessageRow, text: Bytes) -> Self {
        let next_visible = DateTime::from_ticks(position.visible_from);
        Self {
            id: message_id(row.nonce, position.number),
            inserted: row.inserted,
            expires: row.expires,
            receipt: PopReceipt::new(position, row.generation),
            next_visible: next_visible.unwrap_or(DateTime::MAX),
            dequeue_count: row.dequeue_count,
            text,
        }
    }
}

/// The id of a message and a receipt, which together name a message in its current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRef {
    /// The message id.
    pub id: Guid,
    /// Its receipt.
    pub receipt: PopReceipt,
}

impl MessageRef {
    /// The position that the receipt names, if it is a receipt of the message with the id.
    pub(crate) fn position(&self) -> Option<MessagePosition> {
        let [.., a, b, c, d, e, f, g, h] = self.id.0;
        let number = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let position = self.receipt.position();
        (position.number == number).then_some(position)
    }

    /// Whether the row at that position is the message, in the state in which the receipt was given.
    pub(crate) fn is_of(&self, row: &MessageRow) -> bool {
        let id = message_id(row.nonce, self.receipt.position().number);
        #[cfg(feature = "planted-bugs")]
        if crate::planted::accepts_any_receipt() {
            return self.id == id;
        }
        self.id == id && self.receipt.generation() == row.generation
    }
}

/// The id of a message: its random part, then its number.
fn message_id(nonce: u64, number: u64) -> Guid {
    let id = (u128::from(nonce) << 64) | u128::from(number);
    Guid(id.to_be_bytes())
}
