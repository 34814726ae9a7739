//! The rows that users count: entities and messages, without those of the catalog and the headers of queues.

use bytes::Bytes;
use partita_model::{KeyError, KeyKind, KeyReader, QueueId, QueueSpace};

/// The number of entities and messages among stored rows.
pub(super) fn user_rows(rows: &[(Bytes, Bytes)]) -> u64 {
    let counted = rows
        .iter()
        .filter(|(key, _)| KeyReader::of_kind(key, KeyKind::ENTITY).is_ok() || is_message(key));
    counted.count() as u64
}

fn is_message(key: &[u8]) -> bool {
    let space = || -> Result<QueueSpace, KeyError> {
        let mut reader = KeyReader::of_kind(key, KeyKind::MESSAGE)?;
        let account = reader.text()?;
        Ok(QueueSpace::new(&account, QueueId(reader.id()?)))
    };
    space().is_ok_and(|space| space.position(key).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::{KeyWriter, MessagePosition, TableId, TableSpace};

    #[test]
    fn entities_and_messages_count() {
        let queue = QueueSpace::new("acc", QueueId(8));
        let table = KeyWriter::new(KeyKind::TABLE, 8).text("acc");
        let keys = [
            table.last_text("people").finish(),
            TableSpace::new("acc", TableId(7)).entity("p", "r"),
            queue.header(),
            queue.message(MessagePosition::START),
            queue.text(1),
        ];
        let rows = keys.map(|key| (key, Bytes::new()));
        assert_eq!(user_rows(&rows), 2);
    }
}
