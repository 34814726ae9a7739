//! The benchmark's entity: 10 typed properties in a JSON insert body of 1 KiB, and the fixed keys of the prepared rows.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the JSON body of one insert, unless [`set_body_bytes`] was called: 1 KiB.
pub const BODY_BYTES: usize = 1_024;

/// The fewest bytes that the ten properties and the keys need.
pub const BODY_BYTES_MIN: usize = 640;

static BODY: AtomicUsize = AtomicUsize::new(BODY_BYTES);

/// Sets the bytes of all further bodies of this process: [`BODY_BYTES_MIN`] or more.
pub fn set_body_bytes(bytes: usize) {
    BODY.store(bytes, Ordering::Relaxed);
}

/// Bytes of every key used here; fixed, so that keys can be patched into a prepared request in place.
pub const KEY_LEN: usize = 16;

/// Rows of the prepared table.
pub const PREPARED_ROWS: u64 = 100_000;

/// Rows of one prepared partition: a page of it is the largest the protocol allows.
pub const PARTITION_ROWS: u64 = 1_000;

/// A key of [`KEY_LEN`] characters: a letter and 15 hexadecimal digits.
pub fn key(letter: char, number: u64) -> String {
    format!("{letter}{:015x}", number & 0x0fff_ffff_ffff_ffff)
}

/// The keys of prepared row `index` (below [`PREPARED_ROWS`]).
pub fn prepared_keys(index: u64) -> (String, String) {
    (key('p', index / PARTITION_ROWS), key('r', index))
}

/// Bytes of the JSON body of one insert.
pub fn body_bytes() -> usize {
    BODY.load(Ordering::Relaxed)
}

/// The JSON body of an insert, with all eight types among its ten properties.
pub fn body(partition_key: &str, row_key: &str, salt: u64) -> String {
    let mut text = format!(r#"{{"PartitionKey":"{partition_key}","RowKey":"{row_key}","#);
    properties(&mut text, salt);
    let closing = r#""}"#;
    text.push_str(r#","Notes":""#);
    let bytes = body_bytes();
    let missing = bytes
        .checked_sub(text.len() + closing.len())
        .expect("the fixed properties leave room for the notes");
    words(&mut text, missing, salt);
    text.push_str(closing);
    debug_assert_eq!(text.len(), bytes);
    text
}

/// The nine properties before the padding one.
fn properties(text: &mut String, salt: u64) {
    let n = salt % 1_000_000;
    write!(
        text,
        concat!(
            r#""Carrier":"Partita Air {:06}","#,
            r#""Seats":{},"#,
            r#""Miles@odata.type":"Edm.Int64","Miles":"{}","#,
            r#""Price":{}.25,"#,
            r#""Delayed":{},"#,
            r#""Departure@odata.type":"Edm.DateTime","Departure":"2024-01-02T03:04:05.{:06}1Z","#,
            r#""Ticket@odata.type":"Edm.Guid","Ticket":"c9da6455-213d-42c9-9a79-3e9149{:06}","#,
            r#""Code@odata.type":"Edm.Binary","Code":"{}","#,
            r#""Route":"EWR to IAH by way of {:06}""#
        ),
        n,
        n % 400,
        9_007_199_254_740_993 + n,
        n,
        n.is_multiple_of(2),
        n,
        n,
        "AAECAwQFBgcICQoLDA0ODw".repeat(4),
        n,
    )
    .expect("writing to a string cannot fail");
}

/// `bytes` of text that compresses about as real prose does: words, then digits.
fn words(text: &mut String, bytes: usize, salt: u64) {
    const WORDS: [&str; 8] = [
        "delayed ",
        "gate ",
        "window ",
        "aisle ",
        "baggage ",
        "transfer ",
        "meal ",
        "upgrade ",
    ];
    let end = text.len() + bytes;
    let mut state = salt;
    while text.len() < end {
        state = partita_load::mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        text.push_str(WORDS[(state % 8) as usize]);
        write!(text, "{:08x} ", state >> 32).expect("writing to a string cannot fail");
    }
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_one_kibibyte_of_ten_properties() {
        for salt in [0, 1, 999_999, u64::MAX] {
            let text = body(&key('p', salt), &key('r', 7), salt);
            assert_eq!(text.len(), BODY_BYTES);
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            let properties = json
                .as_object()
                .unwrap()
                .keys()
                .filter(|name| !name.contains('@') && !name.ends_with("Key"))
                .count();
            assert_eq!(properties, 10);
        }
    }

    #[test]
    fn keys_have_one_length() {
        for number in [0, 1, u64::MAX] {
            assert_eq!(key('p', number).len(), KEY_LEN);
        }
    }
}
