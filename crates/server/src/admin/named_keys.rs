//! Keys in the words that operators know: account, table, PartitionKey.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use partita_table::{KeyLocation, TableNames};
use partita_wire::admin::NamedKey;

/// A key by its names; `None` at the ends of the key space.
pub(super) fn named_key(key: &Bytes, names: &TableNames) -> Option<NamedKey> {
    let KeyLocation {
        account,
        table,
        table_id,
        partition_key,
    } = names.location(key)?;
    Some(NamedKey {
        key: BASE64_STANDARD.encode(key),
        account: Some(account),
        table,
        table_id: Some(table_id.0.to_string()),
        partition_key: Some(partition_key),
    })
}

/// A whole table as a key: its prefix, without a PartitionKey.
pub(super) fn named_table(prefix: &Bytes, names: &TableNames) -> Option<NamedKey> {
    let KeyLocation {
        account,
        table,
        table_id,
        ..
    } = table_of(prefix, names)?;
    Some(NamedKey {
        key: BASE64_STANDARD.encode(prefix),
        account: Some(account),
        table,
        table_id: Some(table_id.0.to_string()),
        partition_key: None,
    })
}

/// The table that keys with this prefix belong to.
pub(super) fn table_of(prefix: &Bytes, names: &TableNames) -> Option<KeyLocation> {
    // A prefix alone is not a key: this is the table's first partition.
    let mut key = prefix.to_vec();
    key.push(0);
    names.location(&key)
}
