//! The keys of one table's rows.

use super::text::{END, push_text};
use super::{KeyError, KeyKind, KeyReader, KeyWriter, TableId};
use bytes::Bytes;
use std::borrow::Cow;

/// The part of the key space with the rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpace {
    prefix: Bytes,
}

impl TableSpace {
    /// The key space of this table.
    pub fn new(account: &str, table: TableId) -> Self {
        let key = KeyWriter::new(KeyKind::ENTITY, account.len() + 9).text(account);
        Self {
            prefix: key.table_id(table).finish(),
        }
    }

    /// The prefix of all keys of the table, and of no other keys.
    pub fn prefix(&self) -> &Bytes {
        &self.prefix
    }

    /// The key of an entity.
    pub fn entity(&self, partition_key: &str, row_key: &str) -> Bytes {
        let mut key = self.with_room(partition_key.len() + row_key.len() + 1);
        push_text(&mut key, partition_key);
        key.push(END);
        push_text(&mut key, row_key);
        Bytes::from(key)
    }

    /// The smallest key after the entity's key: no row is between them.
    pub fn after_entity(&self, partition_key: &str, row_key: &str) -> Bytes {
        let mut key = Vec::from(self.entity(partition_key, row_key));
        // A longer RowKey continues with a byte of at least 01, so its key is after this one.
        key.push(END);
        Bytes::from(key)
    }

    /// The smallest key of the partition: its indivisible prefix.
    pub fn partition(&self, partition_key: &str) -> Bytes {
        self.partition_then(partition_key, END)
    }

    /// A key after every row of the partition and before every row of the next.
    pub fn partition_end(&self, partition_key: &str) -> Bytes {
        self.partition_then(partition_key, END + 1)
    }

    fn partition_then(&self, partition_key: &str, last: u8) -> Bytes {
        let mut key = self.with_room(partition_key.len() + 1);
        push_text(&mut key, partition_key);
        key.push(last);
        Bytes::from(key)
    }

    /// A key after every row of the table.
    pub fn end(&self) -> Bytes {
        let mut key = self.with_room(1);
        // An encoded text has no byte above F6, so this key is after every row.
        key.push(0xFF);
        Bytes::from(key)
    }

    /// PartitionKey and RowKey of a key of this table.
    ///
    /// # Errors
    /// [`KeyError`] for a key of another table, or a malformed key.
    pub fn decode<'a>(&self, key: &'a [u8]) -> Result<(Cow<'a, str>, Cow<'a, str>), KeyError> {
        let rest = key.strip_prefix(self.prefix.as_ref()).ok_or(KeyError)?;
        let mut reader = KeyReader::new(rest);
        Ok((reader.text()?, reader.last_text()?))
    }

    /// A copy of the prefix with capacity for `more` bytes.
    fn with_room(&self, more: usize) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + more);
        key.extend_from_slice(&self.prefix);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare_utf16;
    use proptest::prelude::*;

    /// Texts with the codec's special cases: escapes, terminators, moved lead bytes, common prefixes.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[\u{0}\u{1}\u{2}a\u{7F}\u{D7FF}\u{E000}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}]{0,5}",
            any::<String>(),
        ]
    }

    fn space() -> TableSpace {
        TableSpace::new("account", TableId(7))
    }

    #[test]
    fn bytes_match_the_format_document() {
        let space = TableSpace::new("acc", TableId(7));
        let mut prefix = b"\x20acc\x00".to_vec();
        prefix.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 7]);
        let behind = |tail: &[u8]| [&prefix, tail].concat();
        let partition = "k\u{FFFD}";
        assert_eq!(
            space.entity(partition, "\u{1F600}1"),
            behind(b"k\xF6\xBF\xBD\x00\xF0\x9F\x98\x801")
        );
        assert_eq!(space.partition_end(partition), behind(b"k\xF6\xBF\xBD\x01"));
        assert_eq!(space.end(), behind(b"\xFF"));
        assert_eq!(
            space.partition("\u{0}\u{1}"),
            behind(b"\x01\x01\x01\x02\x00")
        );
        let table = KeyWriter::new(KeyKind::TABLE, 0)
            .text("acc")
            .last_text("people");
        assert_eq!(table.finish(), b"\x11acc\x00people".as_slice());
        let dropped = KeyWriter::new(KeyKind::DROPPED_TABLE, 0)
            .text("acc")
            .table_id(TableId(7));
        assert_eq!(
            dropped.finish(),
            b"\x12acc\x00\0\0\0\0\0\0\0\x07".as_slice()
        );
        let properties = KeyWriter::new(KeyKind::TABLE_SERVICE_PROPERTIES, 0).last_text("acc");
        assert_eq!(properties.finish(), b"\x10acc".as_slice());
    }

    proptest! {
        #[test]
        fn keys_round_trip(pk in text(), rk in text()) {
            let key = space().entity(&pk, &rk);
            let (pk_back, rk_back) = space().decode(&key).unwrap();
            prop_assert_eq!((&*pk_back, &*rk_back), (&*pk, &*rk));
        }

        #[test]
        fn byte_order_is_the_order_of_the_service(a in (text(), text()), b in (text(), text())) {
            let logical = compare_utf16(&a.0, &b.0).then_with(|| compare_utf16(&a.1, &b.1));
            let bytes = space().entity(&a.0, &a.1).cmp(&space().entity(&b.0, &b.1));
            prop_assert_eq!(bytes, logical);
        }

        #[test]
        fn bounds_contain_their_rows(pk in text(), rk in text(), other in text()) {
            let space = space();
            let key = space.entity(&pk, &rk);
            prop_assert!(key.starts_with(space.prefix()) && key < space.end());
            let inside = space.partition(&other) <= key && key < space.partition_end(&other);
            prop_assert_eq!(inside, pk == other);
            let after = space.after_entity(&pk, &rk);
            prop_assert!(key < after);
            let longer = space.entity(&pk, &format!("{rk}{other}"));
            prop_assert_eq!(longer >= after, !other.is_empty());
        }

        #[test]
        fn keys_of_different_tables_do_not_overlap(a in any::<(u64, u64)>(), pk in text(), rk in text()) {
            prop_assume!(a.0 != a.1);
            let (one, two) = (TableSpace::new("acc", TableId(a.0)), TableSpace::new("acc", TableId(a.1)));
            prop_assert!(two.decode(&one.entity(&pk, &rk)).is_err());
            prop_assert_eq!(one.entity(&pk, &rk) < *two.prefix(), a.0 < a.1);
        }

        #[test]
        fn decoding_random_bytes_does_not_panic(bytes: Vec<u8>) {
            let mut key = space().prefix().to_vec();
            key.extend_from_slice(&bytes);
            if let Ok((pk, rk)) = space().decode(&key) {
                prop_assert_eq!(space().entity(&pk, &rk).to_vec(), key);
            }
        }
    }
}
