//! The header of a queue: one small row, written with every change of its messages.

use super::Fields;
use crate::Error;
use bytes::Bytes;
use partita_model::MessagePosition;

const VERSION: u8 = 1;

/// What a queue knows about its messages without reading them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The number of changes; it differs for any two states of the queue.
    pub(crate) changes: u64,
    /// The number of stored messages, including hidden ones and expired ones that are not removed yet.
    pub(crate) messages: u64,
    /// The number of the next message.
    pub(crate) next_number: u64,
    /// The position of the first message, or after all messages: no message is before it, and whatever is before it was
    /// removed. So a scan that starts here passes no removed messages on its way to the first.
    pub(crate) first: MessagePosition,
    /// A time in ticks before which no message expires; `u64::MAX` if none ever does.
    pub(crate) first_expiry: u64,
}

/// The header of a queue without messages.
impl Default for Header {
    fn default() -> Self {
        Self {
            changes: 0,
            messages: 0,
            next_number: 1,
            first: MessagePosition::END,
            first_expiry: u64::MAX,
        }
    }
}

impl Header {
    /// The row.
    pub(crate) fn encode(&self) -> Bytes {
        let mut row = Vec::with_capacity(1 + 6 * 8);
        row.push(VERSION);
        let fields = [
            self.changes,
            self.messages,
            self.next_number,
            self.first.visible_from,
            self.first.number,
            self.first_expiry,
        ];
        for field in fields {
            row.extend_from_slice(&field.to_be_bytes());
        }
        row.into()
    }

    /// The header of a row; the default without a row.
    pub(crate) fn decode(row: Option<&[u8]>) -> Result<Self, Error> {
        let Some(row) = row else {
            return Ok(Self::default());
        };
        let mut fields = Fields(row);
        fields.version(VERSION)?;
        Ok(Self {
            changes: fields.u64()?,
            messages: fields.u64()?,
            next_number: fields.u64()?,
            first: MessagePosition {
                visible_from: fields.u64()?,
                number: fields.u64()?,
            },
            first_expiry: fields.u64()?,
        })
    }
}
