//! The next messages of a queue, in memory.

use crate::rows::MessageRow;
use partita_model::MessagePosition;
use std::collections::BTreeMap;

/// The maximum number of messages in a window: few in tests, so that these pass its end often.
pub(super) const MESSAGES_MAX: usize = if cfg!(test) { 8 } else { 1024 };
/// The maximum size of a window, in bytes.
const BYTES_MAX: usize = 256 << 10;

/// All messages of a queue before a position: none is missing, so a receive needs no read.
#[derive(Debug)]
pub(super) struct Window {
    messages: BTreeMap<MessagePosition, MessageRow>,
    bytes: usize,
    end: MessagePosition,
}

impl Window {
    /// The window of a queue without messages before `end`.
    pub(super) const fn new(end: MessagePosition) -> Self {
        Self {
            messages: BTreeMap::new(),
            bytes: 0,
            end,
        }
    }

    /// The position before which all messages are in the window.
    pub(super) const fn end(&self) -> MessagePosition {
        self.end
    }

    /// Moves the end, and adds all messages between the former end and the new one.
    pub(super) fn extend_to(
        &mut self,
        end: MessagePosition,
        messages: Vec<(MessagePosition, MessageRow)>,
    ) {
        self.end = self.end.max(end);
        for (position, row) in messages {
            self.add(position, row);
        }
        self.shrink();
    }

    /// A position that no message is before: that of the first message, or the end.
    pub(super) fn first_position(&self) -> MessagePosition {
        let first = self.messages.keys().next();
        first.copied().unwrap_or(self.end)
    }

    /// The first message.
    pub(super) fn first(&self) -> Option<(MessagePosition, &MessageRow)> {
        let (position, row) = self.messages.first_key_value()?;
        Some((*position, row))
    }

    /// The message at a position before the end.
    pub(super) fn get(&self, position: MessagePosition) -> Option<&MessageRow> {
        self.messages.get(&position)
    }

    /// Adds a new message, unless it is behind the end.
    pub(super) fn insert(&mut self, position: MessagePosition, row: &MessageRow) {
        if position < self.end {
            self.add(position, row.clone());
            self.shrink();
        }
    }

    fn add(&mut self, position: MessagePosition, row: MessageRow) {
        self.bytes += row.memory_bytes();
        if let Some(old) = self.messages.insert(position, row) {
            self.bytes -= old.memory_bytes();
        }
    }

    /// Removes a message.
    pub(super) fn remove(&mut self, position: MessagePosition) {
        if let Some(row) = self.messages.remove(&position) {
            self.bytes -= row.memory_bytes();
        }
    }

    /// Forgets the last messages until the window has its size.
    fn shrink(&mut self) {
        while self.messages.len() > MESSAGES_MAX || self.bytes > BYTES_MAX {
            // The first message stays, so that a receive makes progress.
            if self.messages.len() <= 1 {
                return;
            }
            let Some((position, row)) = self.messages.pop_last() else {
                return;
            };
            self.bytes -= row.memory_bytes();
            self.end = position;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Text;
    use bytes::Bytes;
    use partita_model::DateTime;

    fn row(bytes: usize) -> MessageRow {
        MessageRow {
            inserted: DateTime::MIN,
            expires: DateTime::MAX,
            dequeue_count: 0,
            generation: 0,
            nonce: 0,
            text: Text::Inline(Bytes::from(vec![b'x'; bytes])),
        }
    }

    const fn at(number: u64) -> MessagePosition {
        MessagePosition {
            visible_from: 7,
            number,
        }
    }

    #[test]
    fn a_full_window_forgets_its_last_messages() {
        let mut window = Window::new(MessagePosition::END);
        for number in 0..2000 {
            window.insert(at(number), &row(10));
        }
        assert_eq!(window.end(), at(MESSAGES_MAX as u64));
        assert_eq!(window.messages.len(), MESSAGES_MAX);
        window.remove(at(0));
        assert_eq!(window.first_position(), at(1));
        // Behind the end: not kept, because messages before it are missing.
        window.insert(at(5000), &row(10));
        assert_eq!(window.get(at(5000)), None);
    }

    #[test]
    fn the_size_is_bounded_in_bytes_but_one_message_stays() {
        let mut window = Window::new(MessagePosition::END);
        for number in 0..100 {
            window.insert(at(number), &row(10_000));
        }
        assert!(window.bytes <= BYTES_MAX);
        assert_eq!(window.end(), at(window.messages.len() as u64));
        let mut window = Window::new(MessagePosition::END);
        window.insert(at(1), &row(2 * BYTES_MAX));
        assert_eq!(window.first_position(), at(1));
        window.remove(at(1));
        assert_eq!(
            (window.bytes, window.first_position()),
            (0, MessagePosition::END)
        );
    }
}
