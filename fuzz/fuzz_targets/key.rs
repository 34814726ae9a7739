//! Fuzzes ordered keys. Checks that decoded keys encode to the same bytes, and that texts have the order of UTF-16.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::{KeyKind, KeyReader, TableId, TableSpace, compare_utf16};

fuzz_target!(|data: &[u8]| {
    let space = TableSpace::new("devstoreaccount1", TableId(7));
    let mut key = space.prefix().to_vec();
    key.extend_from_slice(data);
    if let Ok((partition_key, row_key)) = space.decode(&key) {
        assert_eq!(space.entity(&partition_key, &row_key), key);
    }
    if let Ok(mut reader) = KeyReader::of_kind(data, KeyKind::ENTITY) {
        let _ = reader.text();
        let _ = reader.table_id();
        let _ = reader.last_text();
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Some((a, b)) = text.split_once('\n')
    {
        let by_bytes = space.entity(a, "").cmp(&space.entity(b, ""));
        assert_eq!(by_bytes, compare_utf16(a, b));
    }
});
