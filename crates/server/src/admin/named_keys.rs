//! Keys by the names that operators use: account, table and PartitionKey, or account and queue.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use partita_table::KeyLocation;
use partita_wire::admin::NamedKey;

use crate::known_names::Names;

/// A key by its names; `None` for a key that belongs to no table and no queue, such as the ends of the key space.
pub(super) fn named_key(key: &Bytes, names: &Names) -> Option<NamedKey> {
    if let Some(location) = names.queues.location(key) {
        return Some(NamedKey {
            key: BASE64_STANDARD.encode(key),
            account: Some(location.account),
            queue: location.queue,
            queue_id: Some(location.queue_id.0.to_string()),
            ..NamedKey::default()
        });
    }
    let mut location = names.tables.location(key)?;
    let partition_key = std::mem::take(&mut location.partition_key);
    // Key buckets end after a partition with a byte that no RowKey begins with.
    let is_after = key.last() == Some(&0xFF);
    Some(NamedKey {
        partition_key: Some(partition_key),
        after_partition: is_after.then_some(true),
        ..named(key, location)
    })
}

/// A whole table or queue as a key: its prefix, without a PartitionKey.
pub(super) fn named_container(prefix: &Bytes, names: &Names) -> Option<NamedKey> {
    match table_of(prefix, names) {
        Some(table) => Some(named(prefix, table)),
        None => named_key(prefix, names),
    }
}

fn named(key: &Bytes, table: KeyLocation) -> NamedKey {
    NamedKey {
        key: BASE64_STANDARD.encode(key),
        account: Some(table.account),
        table: table.table,
        table_id: Some(table.table_id.0.to_string()),
        ..NamedKey::default()
    }
}

/// The table that keys with this prefix belong to.
pub(super) fn table_of(prefix: &Bytes, names: &Names) -> Option<KeyLocation> {
    // `location` needs a complete PartitionKey: appends the empty one. Only the table of the result is used.
    let mut key = prefix.to_vec();
    key.push(0);
    names.tables.location(&key)
}
