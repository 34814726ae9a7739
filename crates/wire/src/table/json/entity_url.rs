//! URLs of entities and tables in `Location`, `DataServiceId`, `odata.id` and `odata.editLink`.
//!
//! A quote in a key is doubled. All characters except ASCII letters, digits and `-_.!~*'()`, the "unreserved" set of
//! RFC 2396, are percent-encoded with upper-case digits, as in the recordings
//! (js--special_characters_should_handle_partition_and_row_keys_with_special_chars: `A''aaa_bbbb2%22`;
//! python--test_table_entity_test_query_special_chars: `%3A%40`, `%2B%2C%24`, `%3D%26%20`).

use crate::split;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Appends `Name(PartitionKey='…',RowKey='…')`. `table` must be a valid table name, which needs no escapes. The
/// appended text is ASCII and needs no escapes in JSON.
pub fn push_entity_path(table: &str, partition_key: &str, row_key: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(table.as_bytes());
    out.extend_from_slice(b"(PartitionKey='");
    push_key(partition_key, out);
    out.extend_from_slice(b"',RowKey='");
    push_key(row_key, out);
    out.extend_from_slice(b"')");
}

/// The URL of an entity, `base/Name(PartitionKey='…',RowKey='…')`: the value of `Location`. `base` is the account's URL
/// without a trailing slash.
pub fn entity_url(base: &str, table: &str, partition_key: &str, row_key: &str) -> String {
    let room = base.len() + table.len() + partition_key.len() + row_key.len() + 48;
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(base.as_bytes());
    out.push(b'/');
    push_entity_path(table, partition_key, row_key, &mut out);
    String::from_utf8(out).expect("the URL consists of UTF-8 strings and ASCII")
}

/// The URL of a table: the value of `Location`.
pub fn table_url(base: &str, table: &str) -> String {
    format!("{base}/Tables('{table}')")
}

fn push_key(key: &str, out: &mut Vec<u8>) {
    if key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        out.extend_from_slice(key.as_bytes());
        return;
    }
    for (index, part) in split::all(key, b'\'').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"''");
        }
        for piece in utf8_percent_encode(part, RESERVED) {
            out.extend_from_slice(piece.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_encoded_as_recorded() {
        let url = |partition_key, row_key| entity_url("http://h/a", "T", partition_key, row_key);
        for (partition_key, row_key, expected) in [
            ("pk", "1", "http://h/a/T(PartitionKey='pk',RowKey='1')"),
            ("", "", "http://h/a/T(PartitionKey='',RowKey='')"),
            (
                "A'aaa_bbbb2\"",
                "\"A'aaa_bbbb2",
                "http://h/a/T(PartitionKey='A''aaa_bbbb2%22',RowKey='%22A''aaa_bbbb2')",
            ),
            (
                ":@",
                "+,$",
                "http://h/a/T(PartitionKey='%3A%40',RowKey='%2B%2C%24')",
            ),
            (
                "é%",
                "=& ",
                "http://h/a/T(PartitionKey='%C3%A9%25',RowKey='%3D%26%20')",
            ),
        ] {
            assert_eq!(url(partition_key, row_key), expected);
        }
        assert_eq!(table_url("http://h/a", "T1x"), "http://h/a/Tables('T1x')");
    }
}
