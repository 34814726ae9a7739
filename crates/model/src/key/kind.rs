//! Kinds of keys: the first byte of each, and the fields of its prefixes.

use super::text::{read_text, text_len};
use bytes::Bytes;

/// A field of a key, except the last field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Field {
    /// A text field with its terminator.
    Text,
    /// Eight bytes.
    Id,
}

const ID_BYTES: usize = 8;

/// The kind of a key: its first byte and the fields of its prefixes. The first field of every key is the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyKind {
    byte: u8,
    /// The fields that all keys of one container (a table, a queue, a blob container) share.
    container: &'static [Field],
    /// The fields of the prefix that a split must not divide; empty for a kind that is never split.
    indivisible: &'static [Field],
}

impl KeyKind {
    /// `account`: the service properties of an account's tables.
    pub const TABLE_SERVICE_PROPERTIES: Self = Self::undivided(0x10);
    /// `account | folded table name`: a table of the catalog.
    pub const TABLE: Self = Self::undivided(0x11);
    /// `account | table id`: a deleted table whose rows are not removed yet.
    pub const DROPPED_TABLE: Self = Self::undivided(0x12);
    /// `account | table id | PartitionKey | RowKey`: an entity.
    pub const ENTITY: Self = Self::divided(
        0x20,
        &[Field::Text, Field::Id],
        &[Field::Text, Field::Id, Field::Text],
    );
    /// `account`: the service properties of an account's queues.
    pub const QUEUE_SERVICE_PROPERTIES: Self = Self::undivided(0x14);
    /// `account | queue name`: a queue of the catalog.
    pub const QUEUE: Self = Self::undivided(0x15);
    /// `account | queue id`: a deleted or cleared queue whose rows are not removed yet.
    pub const DROPPED_QUEUE: Self = Self::undivided(0x16);
    /// `account | queue id | …`: a row of a queue. All rows of a queue are in one range.
    pub const MESSAGE: Self =
        Self::divided(0x30, &[Field::Text, Field::Id], &[Field::Text, Field::Id]);

    /// A kind whose keys are all in one range.
    const fn undivided(byte: u8) -> Self {
        Self {
            byte,
            container: &[],
            indivisible: &[],
        }
    }

    /// A kind whose keys can be split, at the start of an indivisible prefix. The indivisible prefix begins with the
    /// container's prefix.
    const fn divided(byte: u8, container: &'static [Field], indivisible: &'static [Field]) -> Self {
        assert!(!container.is_empty() && container.len() <= indivisible.len());
        Self {
            byte,
            container,
            indivisible,
        }
    }

    /// The first byte of the keys.
    pub const fn byte(self) -> u8 {
        self.byte
    }

    /// The least key of the kind.
    pub fn start(self) -> Bytes {
        Bytes::copy_from_slice(&[self.byte])
    }

    /// A key after every key of the kind.
    pub fn end(self) -> Bytes {
        Bytes::copy_from_slice(&[self.byte + 1])
    }
}

/// The prefix of a key with the kind byte and these fields; `None` if `fields` is empty or the key is malformed.
#[inline]
fn prefix_of<'k>(key: &'k [u8], fields: &[Field]) -> Option<&'k [u8]> {
    if fields.is_empty() {
        return None;
    }
    let mut len = 1;
    for field in fields {
        len += match field {
            Field::Text => text_len(key.get(len..)?)?,
            Field::Id => ID_BYTES,
        };
    }
    key.get(..len)
}

/// All stored kinds of keys, the most frequent first.
const STORED: [KeyKind; 8] = [
    KeyKind::ENTITY,
    KeyKind::MESSAGE,
    KeyKind::TABLE,
    KeyKind::QUEUE,
    KeyKind::TABLE_SERVICE_PROPERTIES,
    KeyKind::QUEUE_SERVICE_PROPERTIES,
    KeyKind::DROPPED_TABLE,
    KeyKind::DROPPED_QUEUE,
];

/// The kind of a stored key; `None` for an unknown kind.
fn kind_of(key: &[u8]) -> Option<KeyKind> {
    let byte = key.first()?;
    STORED.into_iter().find(|kind| kind.byte == *byte)
}

/// The prefix of a stored key that no split divides: for an entity, everything through its PartitionKey. It is also the
/// smallest key with this prefix. `None` for kinds that are unknown or never split, and for malformed keys.
pub fn indivisible_prefix(key: &[u8]) -> Option<&[u8]> {
    prefix_of(key, kind_of(key)?.indivisible)
}

/// The prefix that all rows of a stored key's container share: for an entity, the prefix of its table. `None` for kinds
/// that are unknown or have no containers, and for malformed keys.
pub fn container_prefix(key: &[u8]) -> Option<&[u8]> {
    prefix_of(key, kind_of(key)?.container)
}

/// The PartitionKey at which a range begins or ends, if its bound is within the table of `key`; `None` for a bound in
/// another container, for a bound that is not at a partition, and for keys without partitions.
pub fn partition_of_bound(key: &[u8], bound: &[u8]) -> Option<String> {
    let kind = kind_of(key)?;
    if kind.container.len() == kind.indivisible.len() {
        return None;
    }
    let container = prefix_of(key, kind.container)?;
    let rest = bound.strip_prefix(container)?;
    let (_, text) = rest.get(..text_len(rest)?)?.split_last()?;
    Some(read_text(text).ok()?.into_owned())
}

/// The encoded account of a key, which is the same in all kinds of keys. `None` for malformed keys.
pub fn account_of(key: &[u8]) -> Option<&[u8]> {
    let rest = key.get(1..)?;
    rest.get(..text_len(rest)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyWriter, TableId, TableSpace};
    use proptest::prelude::*;

    /// `account | container id | blob name | block id`: no split divides a blob.
    const BLOCK: KeyKind = KeyKind::divided(
        0x40,
        &[Field::Text, Field::Id],
        &[Field::Text, Field::Id, Field::Text],
    );
    fn in_container(kind: KeyKind, account: &str, container: u64) -> KeyWriter {
        let key = KeyWriter::new(kind, 32).text(account);
        key.table_id(TableId(container))
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[\u{0}\u{1}a\u{FFFD}\u{10000}]{0,5}", any::<String>()]
    }

    proptest! {
        #[test]
        fn each_kind_declares_its_prefixes(account in text(), container: u64, name in text(), last in text()) {
            let message = in_container(KeyKind::MESSAGE, &account, container)
                .table_id(TableId(1))
                .last_text(&last)
                .finish();
            let queue = in_container(KeyKind::MESSAGE, &account, container).finish();
            prop_assert_eq!(indivisible_prefix(&message), Some(queue.as_ref()));
            prop_assert_eq!(container_prefix(&message), Some(queue.as_ref()));

            let of_blob = |last: &str| in_container(BLOCK, &account, container).text(&name).last_text(last);
            let (block, blob) = (of_blob(&last).finish(), of_blob("").finish());
            prop_assert_eq!(prefix_of(&block, BLOCK.indivisible), Some(blob.as_ref()));
            let blobs = in_container(BLOCK, &account, container).finish();
            prop_assert_eq!(prefix_of(&block, BLOCK.container), Some(blobs.as_ref()));

            // Not a stored kind, so the functions for stored keys ignore it.
            prop_assert_eq!(indivisible_prefix(&block), None);
            let space = TableSpace::new(&account, TableId(container));
            let entity = space.entity(&name, &last);
            prop_assert_eq!(kind_of(&entity), Some(KeyKind::ENTITY));
            let partition = space.partition(&name);
            prop_assert_eq!(indivisible_prefix(&entity), Some(partition.as_ref()));
            prop_assert_eq!(account_of(&entity), account_of(&message));
        }

        #[test]
        fn the_indivisible_prefix_of_an_entity_is_its_partition(partition in text(), row in text(), cut in 0..40_usize) {
            let space = TableSpace::new("account", TableId(7));
            let key = space.entity(&partition, &row);
            let whole = space.partition(&partition);
            prop_assert_eq!(indivisible_prefix(&key), Some(whole.as_ref()));
            prop_assert_eq!(container_prefix(&key), Some(space.prefix().as_ref()));
            let short = &key[..key.len().min(cut)];
            if let Some(prefix) = indivisible_prefix(short) {
                prop_assert_eq!(prefix, whole.as_ref());
            }
        }

        #[test]
        fn prefixes_of_any_bytes_are_prefixes(key: Vec<u8>) {
            for prefix in [indivisible_prefix(&key), container_prefix(&key)].into_iter().flatten() {
                prop_assert!(key.starts_with(prefix));
            }
            let _ = account_of(&key);
        }
    }

    #[test]
    fn bounds_in_the_same_table_have_a_partition() {
        let [space, next] = [7, 8].map(|table| TableSpace::new("account", TableId(table)));
        let key = space.entity("m", "r");
        let of = |bound: &[u8]| partition_of_bound(&key, bound);
        assert_eq!(of(&space.partition("h\0é")).as_deref(), Some("h\0é"));
        assert_eq!(of(&space.partition("")).as_deref(), Some(""));
        for bound in [next.partition("h"), space.end(), space.prefix().clone()] {
            assert_eq!(of(&bound), None);
        }
        let queue = in_container(KeyKind::MESSAGE, "account", 7).finish();
        assert_eq!(partition_of_bound(&queue, &queue), None);
        assert_eq!(partition_of_bound(b"", &space.partition("h")), None);
    }

    #[test]
    fn the_first_byte_identifies_the_kind() {
        let bytes: std::collections::BTreeSet<u8> = STORED.map(KeyKind::byte).into();
        assert_eq!(bytes.len(), STORED.len());
    }

    #[test]
    fn catalog_keys_are_never_split() {
        let table = KeyWriter::new(KeyKind::TABLE, 8)
            .text("acc")
            .last_text("t")
            .finish();
        assert_eq!(indivisible_prefix(&table), None);
        assert_eq!(container_prefix(&table), None);
        assert_eq!(account_of(&table), Some(b"acc\0".as_slice()));
        assert_eq!(indivisible_prefix(b""), None);
        assert!(KeyKind::TABLE.start() <= table && table < KeyKind::TABLE.end());
    }
}
