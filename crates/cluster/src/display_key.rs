//! Keys for messages and logs: `devstoreaccount1 table 7 'p'` instead of their bytes.

use partita_model::{KeyError, KeyKind, KeyReader};
use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Displays a stored key, or a bound between stored keys, for messages: account, id of the table or queue, and the
/// quoted keys of an entity. Ids stand for names, because only the catalog knows the names. Keys of other kinds, and
/// malformed ones, are displayed as escaped bytes.
#[derive(Debug, Clone, Copy)]
pub struct DisplayKey<'k>(pub &'k [u8]);

/// What a key belongs to, and the keys of its entity.
struct Named<'k> {
    account: Cow<'k, str>,
    noun: &'static str,
    id: u64,
    partition_key: Option<Cow<'k, str>>,
    row_key: Option<Cow<'k, str>>,
}

/// The kinds with an id after the account, and what the id identifies.
const WITH_ID: [(KeyKind, &str); 4] = [
    (KeyKind::ENTITY, "table"),
    (KeyKind::DROPPED_TABLE, "table"),
    (KeyKind::MESSAGE, "queue"),
    (KeyKind::DROPPED_QUEUE, "queue"),
];

impl<'k> Named<'k> {
    fn of(key: &'k [u8]) -> Result<Self, KeyError> {
        let is_kind = |(kind, _): &(KeyKind, &str)| key.first() == Some(&kind.byte());
        let (kind, noun) = WITH_ID.into_iter().find(is_kind).ok_or(KeyError)?;
        let mut reader = KeyReader::of_kind(key, kind)?;
        let mut named = Self {
            account: reader.text()?,
            noun,
            id: reader.id()?,
            partition_key: None,
            row_key: None,
        };
        if kind == KeyKind::ENTITY && reader.end().is_err() {
            named.partition_key = Some(reader.text()?);
            let row_key = reader.last_text()?;
            named.row_key = (!row_key.is_empty()).then_some(row_key);
        }
        Ok(named)
    }
}

impl fmt::Display for DisplayKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(named) = Named::of(self.0) else {
            return write!(f, "{}", self.0.escape_ascii());
        };
        write!(f, "{} {} {}", named.account, named.noun, named.id)?;
        for text in [named.partition_key, named.row_key].into_iter().flatten() {
            f.write_str(" '")?;
            for c in text.chars() {
                match c {
                    '\'' => f.write_str("''")?,
                    // A log must not contain control characters.
                    c if c.is_control() => write!(f, "{}", c.escape_default())?,
                    c => f.write_char(c)?,
                }
            }
            f.write_char('\'')?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::{KeyWriter, QueueId, QueueSpace, TableId, TableSpace};

    #[test]
    fn keys_are_named_like_in_other_output() {
        let space = TableSpace::new("acc", TableId(7));
        let queue = QueueSpace::new("acc", QueueId(8));
        let dropped = KeyWriter::new(KeyKind::DROPPED_TABLE, 16)
            .text("acc")
            .table_id(TableId(9))
            .finish();
        for (key, expected) in [
            (space.partition("O'Brien"), "acc table 7 'O''Brien'"),
            (
                space.entity("p\n", "\u{FFFD}"),
                "acc table 7 'p\\n' '\u{FFFD}'",
            ),
            (space.prefix().clone(), "acc table 7"),
            (queue.header(), "acc queue 8"),
            (dropped, "acc table 9"),
            (bytes::Bytes::from_static(b"a\0\xFF"), "a\\x00\\xff"),
        ] {
            assert_eq!(DisplayKey(&key).to_string(), expected);
        }
        // Without a terminator the PartitionKey cannot be read: the end of a partition.
        let end = DisplayKey(&space.partition_end("p")).to_string();
        assert_eq!(
            end,
            " acc\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x07p\\x01"
        );
    }
}
