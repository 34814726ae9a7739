//! Fuzzes the `Authorization` header, the date and the rest of a signed request. Checks that the server accepts what a
//! client signs.
//!
//! Input: lines of header, method, target, content type, date.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::{AccountName, DateTime};
use partita_wire::table::{SignedRequest, TableSas};
use partita_wire::{
    AccountKey, AccountKeys, Caller, Credentials, Hosts, Query, Target, Version, parse_http_date,
};

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (header, method, target, content_type, date) = (line(), line(), line(), line(), line());
    let _ = parse_http_date(date);
    let Ok(Credentials::SharedKey(key)) = Credentials::<TableSas<'_>>::parse(
        Some(header),
        Query::new(""),
        Version::parse("2019-02-02"),
    ) else {
        return;
    };
    let hosts = Hosts::new([], true);
    let Ok(target) = Target::parse(target, Some("127.0.0.1:10002"), &hosts, |_| false) else {
        return;
    };
    let request = SignedRequest {
        method,
        content_md5: "",
        content_type,
        date,
        target: &target,
    };
    let keys = AccountKeys::new(AccountKey::from_base64("a2V5").expect("base64"), None);
    let now =
        parse_http_date(date).unwrap_or(DateTime::parse("2026-01-01T00:00:00Z").expect("a date"));
    let caller = Caller {
        now,
        address: None,
        https: false,
    };
    let _ = request.verify(&key, &keys, &caller);
    // The server accepts what a client signs.
    if AccountName::new(&target.account).is_err() {
        return;
    }
    for lite in [false, true] {
        let Ok(made) = request.authorization(keys.primary(), lite) else {
            continue;
        };
        let parsed = Credentials::<TableSas<'_>>::parse(
            Some(&made),
            Query::new(""),
            Version::parse("2019-02-02"),
        );
        let (Ok(Credentials::SharedKey(made)), Some(_)) = (parsed, parse_http_date(date)) else {
            continue;
        };
        request
            .verify(&made, &keys, &caller)
            .expect("the signature matches the request");
    }
});
