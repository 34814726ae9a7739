//! Executes requests on the state of a queue, and collects the changes of its rows.

use super::changes::Changes;
use super::request::Received;
use super::state::State;
use super::window::MESSAGES_MAX;
use crate::Error;
use crate::clock::after;
use crate::message::{Message, MessageRef, PutMessage, UpdateMessage};
use crate::rows::{MessageRow, Text};
use bytes::Bytes;
use partita_engine::{KeyRange, ScanHint};
use partita_model::{DateTime, MessagePosition, QueueSpace};
use partita_range::Range;
use std::time::Duration;

/// The maximum number of messages that fill the window at once. Half of the window, so that new messages do not push
/// them out again.
const FILL_MESSAGES: usize = MESSAGES_MAX / 2;
/// The size in bytes at which filling the window ends.
const FILL_BYTES: usize = 128 << 10;
/// The number of changed rows at which a receive stops to remove expired messages, and continues in another group.
const CHANGES_MAX: usize = 4096;

/// The size in bytes of received texts at which the other receives of a group get one message each: a group may have
/// a thousand receives of 32 messages of 64 KiB.
const RECEIVED_BYTES_MAX: usize = if cfg!(test) { 64 << 10 } else { 8 << 20 };

/// A group while it is executed.
pub(super) struct Execution<'a> {
    pub(super) space: &'a QueueSpace,
    pub(super) range: &'a Range,
    pub(super) now: DateTime,
    pub(super) state: State,
    pub(super) changes: Changes,
    /// Whether the header is to be written also without changed messages.
    pub(super) is_header_changed: bool,
    /// The size of the texts received so far.
    pub(super) received_bytes: usize,
    /// The number of messages that became visible.
    pub(super) arrivals: usize,
    /// The time (ticks) until which all receives that wait have ended or look again without being woken.
    pub(super) asleep_until: u64,
}

impl Execution<'_> {
    pub(super) fn put(&mut self, put: PutMessage) -> Message {
        let now = self.now;
        let time_to_live = put.time_to_live;
        let mut row = MessageRow {
            inserted: now,
            expires: time_to_live.map_or(DateTime::MAX, |span| after(now, span)),
            dequeue_count: 0,
            generation: 0,
            nonce: partita_rt::random::u64(),
            text: Text::Inline(Bytes::new()),
        };
        let header = &mut self.state.header;
        let position = MessagePosition {
            visible_from: after(now, put.visibility_timeout).ticks(),
            number: header.next_number,
        };
        header.next_number += 1;
        header.messages += 1;
        let expires = match time_to_live {
            Some(_) => row.expires.ticks(),
            None => u64::MAX,
        };
        header.first_expiry = header.first_expiry.min(expires);
        self.set_text(position.number, &mut row, &put.text);
        self.write(position, &row);
        Message::new(position, &row, put.text)
    }

    pub(super) async fn get(
        &mut self,
        count: usize,
        visibility_timeout: Duration,
    ) -> Result<Received, Error> {
        let mut received = Received {
            messages: Vec::new(),
            next_visible: None,
            is_cut: false,
        };
        while received.messages.len() < count {
            if self.received_bytes >= RECEIVED_BYTES_MAX && !received.messages.is_empty() {
                break;
            }
            if self.changes.len() >= CHANGES_MAX {
                received.is_cut = true;
                break;
            }
            match self.receive_next(visibility_timeout).await {
                Ok(Next::Received(message)) => {
                    self.received_bytes += message.text.len();
                    received.messages.push(message);
                }
                Ok(Next::Expired) => {}
                Ok(Next::NoneVisible(next)) => {
                    received.next_visible = next;
                    break;
                }
                // The received messages are hidden in this group, so they must not get lost.
                Err(_) if !received.messages.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(received)
    }

    /// Receives the next visible message, or removes it if it has expired.
    async fn receive_next(&mut self, visibility_timeout: Duration) -> Result<Next, Error> {
        let Some((position, mut row)) = self.next_visible().await? else {
            let first = self.state.window.first_position();
            let ticks = first.visible_from.saturating_sub(self.now.ticks());
            let span = Duration::from_nanos(ticks.saturating_mul(100));
            return Ok(Next::NoneVisible(
                (first != MessagePosition::END).then_some(span),
            ));
        };
        if row.is_expired(self.now) {
            self.remove(position, &row);
            return Ok(Next::Expired);
        }
        let text = self.text(position.number, &row).await?;
        row.dequeue_count = row.dequeue_count.saturating_add(1);
        let hidden = self.relocate(position, &mut row, visibility_timeout);
        Ok(Next::Received(Message::new(hidden, &row, text)))
    }

    /// Notes that the caller of a receive without messages waits.
    pub(super) fn will_wait(&mut self, received: &Received, wait: Duration) {
        if received.messages.is_empty() {
            let span = received.next_visible.map_or(wait, |span| span.min(wait));
            self.asleep_until = self.asleep_until.max(after(self.now, span).ticks());
        }
    }

    /// Whether a hidden message becomes visible before all receives that wait look again. They are all woken then.
    pub(super) fn wakes_all(&mut self) -> bool {
        let first = self.state.window.first_position().visible_from;
        let wakes = self.now.ticks() < first && first < self.asleep_until;
        if wakes {
            self.asleep_until = 0;
        }
        wakes
    }

    pub(super) async fn update(&mut self, update: UpdateMessage) -> Result<Message, Error> {
        let (position, mut row) = self.find(&update.message).await?;
        if after(self.now, update.visibility_timeout) > row.expires {
            return Err(Error::VisibilityAfterExpiry);
        }
        let text = match update.text {
            Some(text) => {
                self.set_text(position.number, &mut row, &text);
                text
            }
            None => self.text(position.number, &row).await?,
        };
        let position = self.relocate(position, &mut row, update.visibility_timeout);
        Ok(Message::new(position, &row, text))
    }

    pub(super) async fn delete(&mut self, message: MessageRef) -> Result<(), Error> {
        let (position, row) = self.find(&message).await?;
        self.remove(position, &row);
        Ok(())
    }

    /// Removes the expired messages among these, and returns their number.
    pub(super) async fn remove_expired(
        &mut self,
        positions: Vec<MessagePosition>,
    ) -> Result<usize, Error> {
        let mut removed = 0;
        for position in positions {
            if let Some(row) = self.read(position).await?
                && row.is_expired(self.now)
            {
                self.remove(position, &row);
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Notes that a walk over all messages begins.
    pub(super) const fn begin_expiry(&mut self) {
        self.state.written_expiry = Some(u64::MAX);
    }

    /// Sets the earliest expiry after a walk that found `earliest`. Without effect if the state was dropped since.
    pub(super) fn end_expiry(&mut self, earliest: u64) {
        if let Some(written) = self.state.written_expiry.take() {
            self.state.header.first_expiry = earliest.min(written);
            self.is_header_changed = true;
        }
    }

    /// The first message if it is visible.
    async fn next_visible(&mut self) -> Result<Option<(MessagePosition, MessageRow)>, Error> {
        let visible_end = MessagePosition::after(self.now);
        loop {
            if let Some((position, row)) = self.state.window.first() {
                let is_visible = position < visible_end;
                return Ok(is_visible.then(|| (position, row.clone())));
            }
            if self.state.has_all_before(visible_end) {
                return Ok(None);
            }
            self.fill_window().await?;
        }
    }

    /// Reads the messages behind the window into it.
    async fn fill_window(&mut self) -> Result<(), Error> {
        let from = self.state.window.end();
        let keys = KeyRange::half_open(self.space.message(from), self.space.messages_end());
        let hint = ScanHint::page(FILL_MESSAGES);
        let mut scan = self.range.engine().scan(keys, hint).await?;
        let (mut count, mut bytes, mut end) = (0, 0, MessagePosition::END);
        // Only a complete read goes into the window: behind its end it must have no messages.
        let mut read = Vec::new();
        loop {
            let rows = scan.next(FILL_MESSAGES - count, FILL_BYTES - bytes).await?;
            count += rows.len();
            bytes += rows.bytes();
            for (key, row) in rows.iter() {
                if self.changes.get(key).is_none() {
                    let position = self.space.position(key)?;
                    read.push((position, MessageRow::decode(row)?));
                }
            }
            let Some(last) = rows.last_key() else { break };
            if count >= FILL_MESSAGES || bytes >= FILL_BYTES {
                let last = self.space.position(last)?;
                end = MessagePosition {
                    number: last.number.saturating_add(1),
                    ..last
                };
                break;
            }
        }
        // The scan does not see the changes of this group.
        let end_key = match end {
            MessagePosition::END => self.space.messages_end(),
            end => self.space.message(end),
        };
        for (key, row) in self.changes.written(self.space.message(from)..end_key) {
            let position = self.space.position(key)?;
            read.push((position, MessageRow::decode(row)?));
        }
        self.state.window.extend_to(end, read);
        Ok(())
    }

    /// The message of this id and receipt, if the receipt is its newest and it has not expired.
    async fn find(&self, message: &MessageRef) -> Result<(MessagePosition, MessageRow), Error> {
        let position = message.position().ok_or(Error::MessageNotFound)?;
        #[cfg(feature = "planted-bugs")]
        let position = match crate::planted::accepts_any_receipt() {
            true => self.state.window.position_now(position),
            false => position,
        };
        let row = self.read(position).await?;
        let current = row.filter(|row| message.is_of(row) && !row.is_expired(self.now));
        Ok((position, current.ok_or(Error::MessageNotFound)?))
    }

    /// The message at a position.
    async fn read(&self, position: MessagePosition) -> Result<Option<MessageRow>, Error> {
        if position < self.state.window.end() {
            return Ok(self.state.window.get(position).cloned());
        }
        let key = self.space.message(position);
        let row = self.read_row(&key).await?;
        row.map(|row| MessageRow::decode(&row)).transpose()
    }

    /// A row, with the changes of this group.
    async fn read_row(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        match self.changes.get(key) {
            Some(row) => Ok(row.cloned()),
            None => Ok(self.range.engine().get(key).await?),
        }
    }

    async fn text(&self, number: u64, row: &MessageRow) -> Result<Bytes, Error> {
        match &row.text {
            Text::Inline(text) => Ok(text.clone()),
            Text::Separate => {
                let text = self.read_row(&self.space.text(number)).await?;
                text.ok_or_else(|| Error::Corrupt("the text of a message is missing".into()))
            }
        }
    }

    /// Sets the text of a message, in its row or in a row of its own.
    fn set_text(&mut self, number: u64, row: &mut MessageRow, text: &Bytes) {
        let key = self.space.text(number);
        let had_row = row.text == Text::Separate;
        if text.len() > Text::INLINE_MAX {
            self.changes.put(key, text.clone(), had_row);
            row.text = Text::Separate;
            return;
        }
        if had_row {
            self.changes.delete(key);
        }
        row.text = Text::Inline(text.clone());
    }

    /// Moves a message to the end of its visibility timeout, as its next generation.
    fn relocate(
        &mut self,
        from: MessagePosition,
        row: &mut MessageRow,
        visibility_timeout: Duration,
    ) -> MessagePosition {
        row.generation = row.generation.wrapping_add(1);
        let to = MessagePosition {
            visible_from: after(self.now, visibility_timeout).ticks(),
            number: from.number,
        };
        self.state.window.remove(from);
        self.changes.delete(self.space.message(from));
        self.write(to, row);
        to
    }

    /// Writes a message at a position where the store has none.
    fn write(&mut self, position: MessagePosition, row: &MessageRow) {
        let key = self.space.message(position);
        self.changes.put(key, row.encode(), false);
        self.state.window.insert(position, row);
        if let Some(earliest) = &mut self.state.written_expiry {
            *earliest = row.expires.ticks().min(*earliest);
        }
        if position.visible_from <= self.now.ticks() {
            self.arrivals += 1;
        }
    }

    /// Removes a message.
    fn remove(&mut self, position: MessagePosition, row: &MessageRow) {
        self.state.window.remove(position);
        self.changes.delete(self.space.message(position));
        if row.text == Text::Separate {
            self.changes.delete(self.space.text(position.number));
        }
        let header = &mut self.state.header;
        header.messages = header.messages.saturating_sub(1);
    }
}

/// What a receive found first.
enum Next {
    Received(Message),
    /// An expired message, which was removed.
    Expired,
    /// No visible message; the time in which none becomes visible, if there are messages.
    NoneVisible(Option<Duration>),
}
