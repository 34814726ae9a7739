//! Peek Messages.

use super::values::Message;
use crate::rows::{Header, MessageRow, Text};
use crate::{Error, Queue, Service};
use partita_engine::{KeyRange, ScanHint};
use partita_heat::Access;
use partita_model::MessagePosition;
use partita_range::{Range, RequestStats};
use partita_service::{Busy, CHUNK_BYTES};

/// The number of messages that a peek looks at, expired ones too.
const LOOKED_AT_MAX: usize = 65_536;

impl Service {
    /// At most `count` visible messages, in the order in which Get Messages would return them. Changes nothing. May return
    /// fewer if many expired messages, which no receive has removed yet, are before them. After each message, `admit` is
    /// called with the bytes of all texts so far, and may end the request.
    ///
    /// # Errors
    /// [`Error::Busy`], also that of `admit`; [`Error::Corrupt`].
    pub async fn peek_messages(
        &self,
        queue: &Queue,
        count: usize,
        mut admit: impl FnMut(usize) -> Result<(), Busy> + Send,
    ) -> Result<Vec<Message>, Error> {
        let arrived = self.storage().clock.monotonic();
        self.charge(queue, count)?;
        let (now, space) = (self.now(), &queue.space);
        let header_key = space.header();
        let range = self.storage().route(&header_key)?.range;
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
        let (mut looked_at, mut bytes) = (0, 0);
        while messages.len() < count && looked_at < LOOKED_AT_MAX {
            let rows = scan.next(count - messages.len(), CHUNK_BYTES).await?;
            if rows.is_empty() {
                break;
            }
            looked_at += rows.len();
            for (key, row) in rows.iter() {
                let (position, row) = (space.position(key)?, MessageRow::decode(row)?);
                if !row.is_expired(now)
                    && let Some(text) = text(queue, &range, position, &row).await?
                {
                    bytes += text.len();
                    admit(bytes)?;
                    messages.push(Message::new(position, &row, text));
                }
            }
        }
        let done = RequestStats {
            rows: messages.len(),
            bytes_out: bytes,
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
