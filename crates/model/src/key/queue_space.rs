//! The keys of one queue's rows.

use super::{KeyError, KeyKind, KeyReader, KeyWriter};
use crate::DateTime;
use bytes::Bytes;

/// The id of a queue: new at each creation and each Clear Messages, so that a queue shares no rows with earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u64);

/// The first byte after the prefix, which tells the rows of a queue apart.
const HEADER: u8 = 0x00;
const MESSAGE: u8 = 0x01;
const TEXT: u8 = 0x02;
const END: u8 = 0xFF;

/// The position of a message in its queue: messages become visible, and are received, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessagePosition {
    /// The time from which the message is visible, in ticks ([`DateTime::ticks`]).
    pub visible_from: u64,
    /// The number of the message: each message of a queue has a greater one than all messages put before it.
    pub number: u64,
}

impl MessagePosition {
    /// Before every message.
    pub const START: Self = Self {
        visible_from: 0,
        number: 0,
    };
    /// After every message: [`DateTime::MAX`] is before it.
    pub const END: Self = Self {
        visible_from: u64::MAX,
        number: u64::MAX,
    };

    /// After every message that is visible at this time.
    #[must_use]
    pub const fn after(now: DateTime) -> Self {
        Self {
            visible_from: now.ticks() + 1,
            number: 0,
        }
    }
}

/// The part of the key space with the rows of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpace {
    prefix: Bytes,
}

impl QueueSpace {
    /// The key space of this queue.
    pub fn new(account: &str, queue: QueueId) -> Self {
        let key = KeyWriter::new(KeyKind::MESSAGE, account.len() + 9).text(account);
        Self {
            prefix: key.id(queue.0).finish(),
        }
    }

    /// The prefix of all keys of the queue, and of no other keys. It is also their indivisible prefix.
    pub fn prefix(&self) -> &Bytes {
        &self.prefix
    }

    /// A key after every row of the queue.
    pub fn end(&self) -> Bytes {
        self.row(END, &[])
    }

    /// The key of the header, the first row.
    pub fn header(&self) -> Bytes {
        self.row(HEADER, &[])
    }

    /// The key of the message at a position.
    pub fn message(&self, position: MessagePosition) -> Bytes {
        let fields = [position.visible_from, position.number];
        self.row(MESSAGE, &fields)
    }

    /// A key after every message and before every text.
    pub fn messages_end(&self) -> Bytes {
        self.row(TEXT, &[])
    }

    /// The key of a long text, which is not in the row of its message.
    pub fn text(&self, number: u64) -> Bytes {
        self.row(TEXT, &[number])
    }

    /// The position of the message with this key.
    ///
    /// # Errors
    /// [`KeyError`] for the key of another queue or another row, and for a malformed key.
    pub fn position(&self, key: &[u8]) -> Result<MessagePosition, KeyError> {
        let rest = key.strip_prefix(self.prefix.as_ref()).ok_or(KeyError)?;
        let Some((&MESSAGE, fields)) = rest.split_first() else {
            return Err(KeyError);
        };
        let mut reader = KeyReader::new(fields);
        let position = MessagePosition {
            visible_from: reader.id()?,
            number: reader.id()?,
        };
        reader.end()?;
        Ok(position)
    }

    fn row(&self, row: u8, fields: &[u64]) -> Bytes {
        let mut key = Vec::with_capacity(self.prefix.len() + 1 + 8 * fields.len());
        key.extend_from_slice(&self.prefix);
        key.push(row);
        for field in fields {
            key.extend_from_slice(&field.to_be_bytes());
        }
        Bytes::from(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indivisible_prefix;
    use proptest::prelude::*;

    const fn at(visible_from: u64, number: u64) -> MessagePosition {
        MessagePosition {
            visible_from,
            number,
        }
    }

    #[test]
    fn bytes_match_the_format_document() {
        let space = QueueSpace::new("acc", QueueId(7));
        let behind = |tail: &[u8]| [b"\x30acc\0\0\0\0\0\0\0\0\x07", tail].concat();
        assert_eq!(space.header(), behind(b"\0"));
        let message = space.message(at(0x0102, 3));
        assert_eq!(
            message,
            behind(b"\x01\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03")
        );
        assert_eq!(space.text(3), behind(b"\x02\0\0\0\0\0\0\0\x03"));
        assert_eq!(space.end(), behind(b"\xFF"));
    }

    proptest! {
        #[test]
        fn the_order_of_keys_is_the_order_of_positions(a: (u64, u64), b: (u64, u64)) {
            let space = QueueSpace::new("acc", QueueId(7));
            let (a, b) = (at(a.0, a.1), at(b.0, b.1));
            let (key, other) = (space.message(a), space.message(b));
            prop_assert_eq!(key.cmp(&other), a.cmp(&b));
            prop_assert_eq!(space.position(&key), Ok(a));
            prop_assert!(space.header() < key && key < space.messages_end());
            prop_assert!(space.messages_end() < space.text(a.number) && space.text(a.number) < space.end());
            for row in [space.header(), key, space.text(a.number)] {
                prop_assert_eq!(indivisible_prefix(&row), Some(space.prefix().as_ref()));
            }
        }

        #[test]
        fn reading_random_keys_does_not_panic(bytes: Vec<u8>) {
            let space = QueueSpace::new("acc", QueueId(7));
            let mut key = space.prefix().to_vec();
            key.extend_from_slice(&bytes);
            if let Ok(position) = space.position(&key) {
                prop_assert_eq!(space.message(position).to_vec(), key);
            }
        }
    }
}
