//! A message as a row.

use super::Fields;
use crate::Error;
use bytes::Bytes;
use partita_model::DateTime;

const VERSION: u8 = 1;
/// The flag of a message whose text is in a row of its own.
const SEPARATE: u8 = 1;
/// Bytes of a row before the text.
const FIXED_BYTES: usize = 1 + 1 + 8 + 8 + 4 + 2 + 8;

/// The text of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// A text of at most [`Text::INLINE_MAX`] bytes, in the row of the message.
    Inline(Bytes),
    /// A longer text, in a row of its own, so that receiving the message does not write it again.
    Separate,
}

impl Text {
    /// The largest text, in bytes of UTF-8, in the row of its message.
    pub(crate) const INLINE_MAX: usize = 4096;
}

/// A stored message. Its key has the time from which it is visible, and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageRow {
    /// When it was put.
    pub(crate) inserted: DateTime,
    /// When it expires; [`DateTime::MAX`] for never.
    pub(crate) expires: DateTime,
    /// How often it was received.
    pub(crate) dequeue_count: u32,
    /// Changes with each receive and update, so that an older receipt is not valid again by chance.
    pub(crate) generation: u16,
    /// A random part of the message id.
    pub(crate) nonce: u64,
    pub(crate) text: Text,
}

impl MessageRow {
    /// The row.
    pub(crate) fn encode(&self) -> Bytes {
        let (flags, text) = match &self.text {
            Text::Inline(text) => (0, &text[..]),
            Text::Separate => (SEPARATE, &[][..]),
        };
        let mut row = Vec::with_capacity(FIXED_BYTES + text.len());
        row.extend_from_slice(&[VERSION, flags]);
        row.extend_from_slice(&self.inserted.ticks().to_be_bytes());
        row.extend_from_slice(&self.expires.ticks().to_be_bytes());
        row.extend_from_slice(&self.dequeue_count.to_be_bytes());
        row.extend_from_slice(&self.generation.to_be_bytes());
        row.extend_from_slice(&self.nonce.to_be_bytes());
        row.extend_from_slice(text);
        row.into()
    }

    /// The message of a row. The text is a copy, because the row may keep a whole block of the store in memory.
    pub(crate) fn decode(row: &[u8]) -> Result<Self, Error> {
        let mut fields = Fields(row);
        fields.version(VERSION)?;
        let [flags] = fields.take()?;
        let (inserted, expires) = (fields.u64()?, fields.u64()?);
        let date = |ticks| {
            DateTime::from_ticks(ticks)
                .ok_or_else(|| Error::Corrupt("a message has an invalid time".into()))
        };
        Ok(Self {
            inserted: date(inserted)?,
            expires: date(expires)?,
            dequeue_count: u32::from_be_bytes(fields.take()?),
            generation: u16::from_be_bytes(fields.take()?),
            nonce: fields.u64()?,
            text: match flags {
                SEPARATE => Text::Separate,
                _ => Text::Inline(Bytes::copy_from_slice(fields.0)),
            },
        })
    }

    /// Whether it has expired.
    pub(crate) fn is_expired(&self, now: DateTime) -> bool {
        self.expires <= now
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let text = match &self.text {
            Text::Inline(text) => text.len(),
            Text::Separate => 0,
        };
        size_of::<Self>() + text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Header;
    use partita_model::MessagePosition;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_round_trip(count: u32, generation: u16, nonce: u64, text: Option<Vec<u8>>) {
            let row = MessageRow {
                inserted: DateTime::UNIX_EPOCH,
                expires: DateTime::MAX,
                dequeue_count: count,
                generation,
                nonce,
                text: text.map_or(Text::Separate, |text| Text::Inline(text.into())),
            };
            prop_assert_eq!(MessageRow::decode(&row.encode()).unwrap(), row);
        }

        #[test]
        fn headers_round_trip(fields: [u64; 6]) {
            let [changes, messages, next_number, visible_from, number, first_expiry] = fields;
            let first = MessagePosition { visible_from, number };
            let header = Header { changes, messages, next_number, first, first_expiry };
            prop_assert_eq!(Header::decode(Some(&header.encode())).unwrap(), header);
        }

        #[test]
        fn reading_random_rows_does_not_panic(bytes: Vec<u8>) {
            let _ = MessageRow::decode(&bytes);
            let _ = Header::decode(Some(&bytes));
        }
    }
}
