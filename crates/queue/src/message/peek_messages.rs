//! Peek Messages.

use super::values::Message;
use crate::rows::{Header, MessageRow, Text};
use crate::{Error, Queue, Service};
use partita_engine::{KeyRange, ScanHint};
use partita_heat::Access;
use partita_model::MessagePosition;
use partita_range::{Range, RequestStats};
use partita_service::CHUNK_BYTES;

impl Service {
    /// At most `count` visible messages, in the order in which Get Messages would return them. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn peek_messages(&self, queue: &Queue, count: usize) -> Result<Vec<Message>, Error> {
        let arrived = self.storage().clock.monotonic();
        self.charge(queue, count)?;
        let (now, space) = (self.now(), &queue.space);
        let header_key = space.header();
        let range = self.storage().route(&header_key).range;
        let header = range.engine().get(&header_key).await?;
        let first = Header::decode(header.as_deref())?.first;
        let keys = KeyRange::half_open(
            space.message(first),
            space.message(MessagePosition::after(now)),
        );
        let mut messages = Vec::new();
        if keys.is_empty() {
            return Ok(messages);
        }
        let mut scan = range.engine().scan(keys, ScanHint::page(count)).await?;
        while messages.len() < count {
            let rows = scan.next(count - messages.len(), CHUNK_BYTES).await?;
            if rows.is_empty() {
                break;
            }
            for (key, row) in rows.iter() {
                let (position, row) = (space.position(key)?, MessageRow::decode(row)?);
                if !row.is_expired(now)
                    && let Some(text) = text(queue, &range, position, &row).await?
                {
                    messages.push(Message::new(position, &row, text));
                }
            }
        }
        let done = RequestStats {
            rows: messages.len(),
            bytes_out: messages.iter().map(|message| message.text.len()).sum(),
            latency: self.storage().clock.monotonic() - arrived,
            ..RequestStats::default()
        };
        range.note(space.prefix(), Access::Read, done);
        Ok(messages)
    }
}

/// The text of a message; `None` if the message was removed since its row was read.
async fn text(
    queue: &Queue,
    range: &Range,
    position: MessagePosition,
    row: &MessageRow,
) -> Result<Option<bytes::Bytes>, Error> {
    match &row.text {
        Text::Inline(text) => Ok(Some(text.clone())),
        Text::Separate => {
            let key = queue.space.text(position.number);
            Ok(range.engine().get(&key).await?)
        }
    }
}
