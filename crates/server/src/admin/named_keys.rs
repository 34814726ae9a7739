//! Keys by the names that operators use: account, table, PartitionKey.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use partita_table::{KeyLocation, Service, TableNames};
use partita_wire::admin::NamedKey;

use super::answer::Answer;

/// The names of all tables; 503 `Busy` if they cannot be read now.
pub(super) async fn table_names(service: &Service) -> Result<TableNames, Answer> {
    let names = service.table_names().await;
    let status = StatusCode::SERVICE_UNAVAILABLE;
    names.map_err(|error| Answer::refused(status, "Busy", error.to_string()))
}

/// A key by its names; `None` for a key that belongs to no table, such as the ends of the key space.
pub(super) fn named_key(key: &Bytes, names: &TableNames) -> Option<NamedKey> {
    let mut location = names.location(key)?;
    let partition_key = std::mem::take(&mut location.partition_key);
    Some(NamedKey {
        partition_key: Some(partition_key),
        ..named(key, location)
    })
}

/// A whole table as a key: its prefix, without a PartitionKey.
pub(super) fn named_table(prefix: &Bytes, names: &TableNames) -> Option<NamedKey> {
    Some(named(prefix, table_of(prefix, names)?))
}

fn named(key: &Bytes, table: KeyLocation) -> NamedKey {
    NamedKey {
        key: BASE64_STANDARD.encode(key),
        account: Some(table.account),
        table: table.table,
        table_id: Some(table.table_id.0.to_string()),
        partition_key: None,
    }
}

/// The table that keys with this prefix belong to.
pub(super) fn table_of(prefix: &Bytes, names: &TableNames) -> Option<KeyLocation> {
    // `location` needs a complete PartitionKey: appends the empty one. Only the table of the result is used.
    let mut key = prefix.to_vec();
    key.push(0);
    names.location(&key)
}
