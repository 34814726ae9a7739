//! Keys in the words that operators know: account, table, PartitionKey.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use partita_table::{KeyLocation, TableNames};
use serde_json::{Value, json};

/// A bound in words; null at the ends of the key space.
pub(super) fn place(key: &Bytes, names: &TableNames) -> Value {
    let Some(KeyLocation {
        account,
        table,
        table_id,
        partition_key,
    }) = names.location(key)
    else {
        return Value::Null;
    };
    json!({
        "key": BASE64_STANDARD.encode(key),
        "account": account,
        "table": table,
        "table_id": table_id.0.to_string(),
        "partition_key": partition_key,
    })
}

/// A table as a place: all of it, so no PartitionKey.
pub(super) fn whole_table(prefix: &Bytes, names: &TableNames) -> Value {
    let Some(table) = table_place(prefix, names) else {
        return Value::Null;
    };
    json!({
        "key": BASE64_STANDARD.encode(prefix),
        "account": table.account,
        "table": table.table,
        "table_id": table.table_id.0.to_string(),
        "partition_key": Value::Null,
    })
}

/// The table that keys begin with, in words.
pub(super) fn table_place(prefix: &Bytes, names: &TableNames) -> Option<KeyLocation> {
    let mut key = prefix.to_vec();
    // The first partition of the table, so that the key is whole.
    key.push(0);
    names.location(&key)
}
