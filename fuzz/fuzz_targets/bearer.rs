//! Fuzzes bearer tokens, and the key sets that verify them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::DateTime;
use partita_wire::{BearerRules, Caller, Jwks, ServiceKind};

fuzz_target!(|data: &[u8]| {
    let keys = Jwks::parse(data);
    let Ok(token) = std::str::from_utf8(data) else {
        return;
    };
    let now = DateTime::parse("2026-01-01T00:00:00Z").expect("a date");
    let caller = Caller {
        now,
        address: None,
        https: true,
    };
    let account = "devstoreaccount1";
    let _ = BearerRules::basic().verify(token, account, ServiceKind::Table, &caller, None);
    if let Ok(keys) = keys {
        let rules = BearerRules::verified("issuer".to_owned(), vec!["audience".to_owned()], keys);
        let _ = rules.verify(token, account, ServiceKind::Table, &caller, None);
    }
});
