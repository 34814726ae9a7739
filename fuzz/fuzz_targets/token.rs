//! Continuation tokens: what parses is written back to a token of the same meaning; any key makes a token.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::DateTime;
use partita_wire::{EntityToken, TableToken};

fuzz_target!(|text: &str| {
    let (first, second) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok(Some(token)) = EntityToken::parse(Some(first), Some(second)) {
        let again = EntityToken::parse(
            Some(&token.partition_key_text()),
            token.row_key_text().as_deref(),
        );
        assert_eq!(again.ok().flatten(), Some(token));
    }
    if let Ok(Some(token)) = TableToken::parse(Some(first)) {
        let created = DateTime::parse("2026-01-01T00:00:00Z").expect("a date");
        let again = TableToken::parse(Some(&token.text(created)));
        assert_eq!(again.ok().flatten(), Some(token));
    }
    if first.len() <= 1_024 && second.len() <= 1_024 {
        let token = EntityToken {
            partition_key: first.to_owned(),
            row_key: Some(second.to_owned()),
        };
        let (partition, row) = (token.partition_key_text(), token.row_key_text());
        let again = EntityToken::parse(Some(&partition), row.as_deref());
        assert_eq!(again.ok().flatten(), Some(token));
    }
});
