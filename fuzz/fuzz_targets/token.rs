//! Fuzzes continuation tokens. Checks that a token that parses is written back to one with the same meaning, and that
//! every key makes a valid token.
#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::{DateTime, EntityPosition};
use partita_wire::table::{
    read_entity_token, read_table_token, write_entity_token, write_table_token,
};

fuzz_target!(|text: &str| {
    let (first, second) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok(Some(position)) = read_entity_token(Some(first), Some(second)) {
        check(&position);
    }
    if let Ok(Some(name)) = read_table_token(Some(first)) {
        let created = DateTime::parse("2026-01-01T00:00:00Z").expect("a date");
        let again = read_table_token(Some(&write_table_token(&name, created)));
        assert_eq!(again.ok().flatten(), Some(name));
    }
    if first.len() <= 1_024 && second.len() <= 1_024 {
        check(&EntityPosition {
            partition_key: first.to_owned(),
            row_key: Some(second.to_owned()),
        });
    }
});

fn check(position: &EntityPosition) {
    let token = write_entity_token(position);
    let again = read_entity_token(
        Some(&token.next_partition_key),
        token.next_row_key.as_deref(),
    );
    assert_eq!(again.ok().flatten().as_ref(), Some(position));
}
