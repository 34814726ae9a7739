//! Planted bugs in the groups of a queue, see [`partita_engine::planted`].

use crate::rows::Header;
use partita_engine::planted::is_active;
use partita_engine::{Batch, Write};
use partita_model::MessagePosition;

/// Bytes of the position at the end of the key of a message.
const POSITION_BYTES: usize = 16;

/// `queue-receipt-unchecked`: a receipt is accepted whatever its generation, and wherever its message is now.
pub(crate) fn accepts_any_receipt() -> bool {
    is_active("queue-receipt-unchecked")
}

/// `queue-visibility-in-memory`: a receive or an update hides a message without writing that.
pub(crate) fn batch(batch: Batch) -> Batch {
    if !is_active("queue-visibility-in-memory") {
        return batch;
    }
    let writes = batch.into_writes();
    // A move deletes a row and writes one that differs in the time only.
    let is_move = |one: &Write, other: &Write| {
        let keys = (one.key.len() == other.key.len())
            .then(|| (split(&one.key), split(&other.key)))
            .filter(|((one, _), (other, _))| one == other);
        let is_same = keys.is_some_and(|((_, one), (_, other))| one == other);
        is_same && one.value.is_none() != other.value.is_none()
    };
    let mut kept = Batch::with_capacity(writes.len());
    for write in &writes {
        if !writes.iter().any(|other| is_move(write, other)) {
            kept.push(write.clone());
        }
    }
    kept
}

/// The key of a message without its time: the key space of the queue, and the number.
fn split(key: &[u8]) -> (&[u8], &[u8]) {
    let (space, position) = key.split_at(key.len().saturating_sub(POSITION_BYTES));
    (space, &position[position.len() / 2..])
}

/// `queue-count-too-low`: now and then, the number of messages in the header is too low by one.
pub(crate) fn count(header: &mut Header) {
    if header.changes.is_multiple_of(16) && is_active("queue-count-too-low") {
        header.messages = header.messages.saturating_sub(1);
    }
}

/// `queue-forgets-hidden`: the end of the window moves over messages that were not read.
pub(crate) fn end(end: MessagePosition) -> MessagePosition {
    if is_active("queue-forgets-hidden") {
        return MessagePosition::END;
    }
    end
}
