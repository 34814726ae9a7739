//! The `Authorization` header, the date and the rest of a signed request.
//!
//! Input: lines of header, method, target, content type, date.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::DateTime;
use partita_wire::{
    AccountKey, AccountKeys, Caller, Credentials, Hosts, Query, SignedRequest, Target, Version,
    parse_http_date,
};

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (header, method, target, content_type, date) = (line(), line(), line(), line(), line());
    let _ = parse_http_date(date);
    let Ok(Credentials::SharedKey(key)) =
        Credentials::parse(Some(header), Query::new(""), Version::parse("2019-02-02"))
    else {
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
    let _ = key.verify(&request, &keys, &caller);
    // What the client's side makes, the server's side takes.
    for lite in [false, true] {
        let Ok(made) = request.authorization(keys.primary(), lite) else {
            continue;
        };
        let parsed = Credentials::parse(Some(&made), Query::new(""), None);
        let (Ok(Credentials::SharedKey(made)), Some(_)) = (parsed, parse_http_date(date)) else {
            continue;
        };
        made.verify(&request, &keys, &caller)
            .expect("an own signature is right");
    }
});
