//! The ordered key codec: one key space for everything, whose byte order is the service's order.
//!
//! A key is a kind byte and then fields. A text field is written in UTF-8 with the lead bytes EE and EF lifted above
//! F0..F4 (so that bytes order as UTF-16 code units do, see `utf16`), 00 as 01 01, 01 as 01 02, and ends with 00.
//! The last field of a key carries no terminator. `docs/format/keys.md` has the bytes.
//!
//! Invariants:
//! - encoded keys compare, byte for byte, as their fields do, field by field, texts by UTF-16 code units;
//! - a field never contains 00 except as its terminator, so no text can reach into the next field;
//! - a split may fall only behind the *indivisible prefix* of a key, for a row its PartitionKey.

use crate::utf16::{lift, lower};
use bytes::Bytes;
use std::borrow::Cow;
use thiserror::Error;

const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;
const TABLE_ID_BYTES: usize = 8;

/// What a key stands for; its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum KeyKind {
    /// `account`: the service properties of an account.
    ServiceProperties = 0x10,
    /// `account | folded table name`: a table of the catalog.
    Table = 0x11,
    /// `account | table id`: a dropped table whose rows are still to be removed.
    DroppedTable = 0x12,
    /// `account | table id | PartitionKey | RowKey`: an entity.
    Entity = 0x20,
}

/// The identity of a table: made fresh when it is created, so that a new table of an old name shares no rows with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);

/// A stored key that no writer of this version makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the stored key is malformed")]
pub struct KeyError;

/// Writes a key field by field.
#[derive(Debug)]
pub struct KeyWriter {
    bytes: Vec<u8>,
}

impl KeyWriter {
    /// A key of a kind, with room for `capacity` bytes.
    #[must_use]
    pub fn new(kind: KeyKind, capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity + 1);
        bytes.push(kind as u8);
        Self { bytes }
    }

    /// A text with its terminator.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        push_text(&mut self.bytes, text);
        self.bytes.push(END);
        self
    }

    /// A table id: eight bytes, big-endian.
    #[must_use]
    pub fn table_id(mut self, id: TableId) -> Self {
        self.bytes.extend_from_slice(&id.0.to_be_bytes());
        self
    }

    /// The last text, without terminator.
    #[must_use]
    pub fn last_text(mut self, text: &str) -> Self {
        push_text(&mut self.bytes, text);
        self
    }

    /// The key.
    #[must_use]
    pub fn finish(self) -> Bytes {
        Bytes::from(self.bytes)
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte > ESCAPE && byte < 0xEE;
    if text.bytes().all(plain) {
        bytes.extend_from_slice(text.as_bytes());
        return;
    }
    for byte in text.bytes() {
        match byte {
            0x00 | 0x01 => bytes.extend_from_slice(&[ESCAPE, byte + 1]),
            other => bytes.push(lift(other)),
        }
    }
}

/// Reads a key field by field.
#[derive(Debug, Clone, Copy)]
pub struct KeyReader<'a> {
    rest: &'a [u8],
}

impl<'a> KeyReader<'a> {
    /// Reads what follows a prefix already known.
    #[must_use]
    pub const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// A key of the kind expected.
    ///
    /// # Errors
    /// [`KeyError`] for any other kind.
    pub fn of_kind(key: &'a [u8], kind: KeyKind) -> Result<Self, KeyError> {
        match key.split_first() {
            Some((&first, rest)) if first == kind as u8 => Ok(Self { rest }),
            _ => Err(KeyError),
        }
    }

    /// The next text, up to its terminator.
    ///
    /// # Errors
    /// [`KeyError`] without a terminator, for a wrong escape, or bytes that are no UTF-8.
    pub fn text(&mut self) -> Result<Cow<'a, str>, KeyError> {
        let end = self
            .rest
            .iter()
            .position(|&byte| byte == END)
            .ok_or(KeyError)?;
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).ok_or(KeyError)?;
        read_text(field)
    }

    /// The table id.
    ///
    /// # Errors
    /// [`KeyError`] when fewer than eight bytes are left.
    pub fn table_id(&mut self) -> Result<TableId, KeyError> {
        let (id, rest) = self.rest.split_first_chunk::<8>().ok_or(KeyError)?;
        self.rest = rest;
        Ok(TableId(u64::from_be_bytes(*id)))
    }

    /// The last text: all that is left.
    ///
    /// # Errors
    /// [`KeyError`] for a wrong escape, or bytes that are no UTF-8.
    pub fn last_text(self) -> Result<Cow<'a, str>, KeyError> {
        read_text(self.rest)
    }
}

fn read_text(field: &[u8]) -> Result<Cow<'_, str>, KeyError> {
    let plain = |byte: &u8| *byte > ESCAPE && *byte < 0xEE;
    if field.iter().all(plain) {
        return std::str::from_utf8(field)
            .map(Cow::Borrowed)
            .map_err(|_| KeyError);
    }
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            END => return Err(KeyError),
            ESCAPE => match bytes.next() {
                Some(&escaped @ 1..=2) => text.push(escaped - 1),
                _ => return Err(KeyError),
            },
            0xEE | 0xEF => return Err(KeyError),
            other => text.push(lower(other)),
        }
    }
    String::from_utf8(text)
        .map(Cow::Owned)
        .map_err(|_| KeyError)
}

/// The indivisible prefix of an entity's key: everything up to and with its PartitionKey, which is also the first key that a row
/// of its partition can have. `None` for keys of other kinds, which are never cut apart, and malformed ones.
#[must_use]
pub fn indivisible_prefix(key: &[u8]) -> Option<&[u8]> {
    let table_bytes = table_prefix(key)?.len();
    let partition_bytes = text_bytes(key.get(table_bytes..)?)?;
    key.get(..table_bytes + partition_bytes)
}

/// The part of an entity's key that all rows of its table share. `None` for keys of other kinds, and malformed ones.
#[must_use]
pub fn table_prefix(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(&[KeyKind::Entity as u8])?;
    key.get(..1 + text_bytes(rest)? + TABLE_ID_BYTES)
}

/// How long the text at the start is, with its terminator.
fn text_bytes(bytes: &[u8]) -> Option<usize> {
    Some(bytes.iter().position(|&byte| byte == END)? + 1)
}

/// The part of the key space that holds the rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpace {
    prefix: Bytes,
}

impl TableSpace {
    /// The rows of a table of an account.
    #[must_use]
    pub fn new(account: &str, table: TableId) -> Self {
        let key = KeyWriter::new(KeyKind::Entity, account.len() + 9).text(account);
        Self {
            prefix: key.table_id(table).finish(),
        }
    }

    /// The prefix that all its keys share, and no other key has.
    #[must_use]
    pub fn prefix(&self) -> &Bytes {
        &self.prefix
    }

    /// The key of an entity.
    #[must_use]
    pub fn entity(&self, partition_key: &str, row_key: &str) -> Bytes {
        let mut key = self.with_room(partition_key.len() + row_key.len() + 1);
        push_text(&mut key, partition_key);
        key.push(END);
        push_text(&mut key, row_key);
        Bytes::from(key)
    }

    /// The least key behind an entity's: no key of a row lies between the two.
    #[must_use]
    pub fn after_entity(&self, partition_key: &str, row_key: &str) -> Bytes {
        let mut key = Vec::from(self.entity(partition_key, row_key));
        // Where a longer RowKey goes on, the codec writes 01 or more.
        key.push(END);
        Bytes::from(key)
    }

    /// The first key a row of the partition can have: the indivisible prefix.
    #[must_use]
    pub fn partition(&self, partition_key: &str) -> Bytes {
        let mut key = self.with_room(partition_key.len() + 1);
        push_text(&mut key, partition_key);
        key.push(END);
        Bytes::from(key)
    }

    /// A key behind every row of the partition and before every row of the next.
    #[must_use]
    pub fn partition_end(&self, partition_key: &str) -> Bytes {
        let mut key = self.with_room(partition_key.len() + 1);
        push_text(&mut key, partition_key);
        key.push(END + 1);
        Bytes::from(key)
    }

    /// A key behind every row of the table.
    #[must_use]
    pub fn end(&self) -> Bytes {
        let mut key = self.with_room(1);
        // Text never encodes to FF: F6 is the highest byte the codec writes.
        key.push(0xFF);
        Bytes::from(key)
    }

    /// PartitionKey and RowKey of a key of this table.
    ///
    /// # Errors
    /// [`KeyError`] for a key of another table, or a malformed one.
    pub fn decode<'a>(&self, key: &'a [u8]) -> Result<(Cow<'a, str>, Cow<'a, str>), KeyError> {
        let rest = key.strip_prefix(self.prefix.as_ref()).ok_or(KeyError)?;
        let mut reader = KeyReader::new(rest);
        Ok((reader.text()?, reader.last_text()?))
    }

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

    /// Texts that meet the codec's corners: escapes, terminators, lifted leads, common prefixes.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[\u{0}\u{1}\u{2}a\u{7F}\u{D7FF}\u{E000}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}]{0,5}",
            any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn the_indivisible_prefix_is_the_partition(partition in text(), row in text(), cut in 0..40_usize) {
            let key = space().entity(&partition, &row);
            let whole = space().partition(&partition);
            prop_assert_eq!(indivisible_prefix(&key), Some(whole.as_ref()));
            let table = space();
            prop_assert_eq!(table_prefix(&key), Some(table.prefix().as_ref()));
            let short = &key[..key.len().min(cut)];
            if let Some(prefix) = indivisible_prefix(short) {
                prop_assert_eq!(prefix, whole.as_ref());
            }
        }
    }

    #[test]
    fn other_kinds_are_never_cut_apart() {
        let table = KeyWriter::new(KeyKind::Table, 8)
            .text("acc")
            .last_text("t")
            .finish();
        assert_eq!(indivisible_prefix(&table), None);
        assert_eq!(indivisible_prefix(b""), None);
    }

    fn space() -> TableSpace {
        TableSpace::new("account", TableId(7))
    }

    #[test]
    fn bytes_are_those_of_the_format_document() {
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
        let table = KeyWriter::new(KeyKind::Table, 0)
            .text("acc")
            .last_text("people");
        assert_eq!(table.finish(), b"\x11acc\x00people".as_slice());
        let dropped = KeyWriter::new(KeyKind::DroppedTable, 0)
            .text("acc")
            .table_id(TableId(7));
        assert_eq!(
            dropped.finish(),
            b"\x12acc\x00\0\0\0\0\0\0\0\x07".as_slice()
        );
        let properties = KeyWriter::new(KeyKind::ServiceProperties, 0).last_text("acc");
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
        fn bounds_hold_their_rows(pk in text(), rk in text(), other in text()) {
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
        fn tables_do_not_mix(a in any::<(u64, u64)>(), pk in text(), rk in text()) {
            prop_assume!(a.0 != a.1);
            let (one, two) = (TableSpace::new("acc", TableId(a.0)), TableSpace::new("acc", TableId(a.1)));
            prop_assert!(two.decode(&one.entity(&pk, &rk)).is_err());
            prop_assert_eq!(one.entity(&pk, &rk) < *two.prefix(), a.0 < a.1);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let mut key = space().prefix().to_vec();
            key.extend_from_slice(&bytes);
            if let Ok((pk, rk)) = space().decode(&key) {
                prop_assert_eq!(space().entity(&pk, &rk).to_vec(), key);
            }
        }
    }
}
