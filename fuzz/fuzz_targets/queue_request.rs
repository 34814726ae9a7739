//! Fuzzes the head of a request to the Queue service: path, query, metadata, and Shared Key. Checks that the server
//! accepts what a client signs, and that metadata is written to headers with the same pairs.
//!
//! Input: lines of method, target, then a name and a value for each header.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::{AccountName, DateTime};
use partita_wire::queue::{
    GetParameters, ListParameters, Operation, PutParameters, QueueSas, Resource, SignedRequest,
    UpdateParameters, metadata_headers, peek_count, pop_receipt, read_metadata,
};
use partita_wire::{
    AccountKey, AccountKeys, Caller, Credentials, Hosts, Method, Query, Target, Version,
    parse_http_date,
};

fuzz_target!(|text: &str| {
    let lines: Vec<&str> = text.split('\n').collect();
    let [method, target, headers @ ..] = &lines[..] else {
        return;
    };
    let headers: Vec<(&str, &str)> = headers
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    if let Ok(metadata) = read_metadata(headers.iter().copied()) {
        let written: Vec<_> = metadata_headers(&metadata).collect();
        let again = read_metadata(written.iter().map(|(name, value)| (&**name, *value)));
        assert_eq!(again, Ok(metadata));
    }
    let hosts = Hosts::new(["queue.localhost".to_owned()], true);
    let Ok(target) = Target::parse(target, Some("127.0.0.1:10001"), &hosts, |_| false) else {
        return;
    };
    read_query(target.query, &target.account);
    if let Ok(resource) = Resource::of(&target) {
        let _ = (resource.queue_name(), resource.message_id());
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let method = Method::parse(method).expect("a known verb");
            let _ = Operation::of(&target, method, &resource);
        }
    }
    check_signature(&SignedRequest {
        method,
        headers: &headers,
        target: &target,
    });
});

fn read_query(query: Query<'_>, account: &str) {
    for version in [Version::OLDEST, Version::JSON, Version::CHALLENGE] {
        let _ = PutParameters::parse(query, version);
        let _ = GetParameters::parse(query, version);
        let _ = UpdateParameters::parse(query, version);
    }
    let _ = (peek_count(query), pop_receipt(query));
    if let Ok(parameters) = ListParameters::parse(query, account) {
        assert!(parameters.top() <= 5000);
    }
}

/// The server accepts what a client signs.
fn check_signature(request: &SignedRequest<'_>) {
    let header = |wanted: &str| {
        let mut headers = request.headers.iter();
        headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let date = header("x-ms-date").or_else(|| header("date"));
    let Some(now) = date.and_then(|(_, date)| parse_http_date(date.trim())) else {
        return;
    };
    if AccountName::new(&request.target.account).is_err() {
        return;
    }
    let keys = AccountKeys::new(AccountKey::from_base64("a2V5").expect("base64"), None);
    for lite in [false, true] {
        let Ok(made) = request.authorization(keys.primary(), lite) else {
            continue;
        };
        let version = Version::parse("2019-02-02");
        let parsed = Credentials::<QueueSas<'_>>::parse(Some(&made), Query::new(""), version);
        let Ok(Credentials::SharedKey(key)) = parsed else {
            panic!("a signed header is not a shared key");
        };
        let at = |now: DateTime| Caller {
            now,
            address: None,
            https: false,
        };
        request
            .verify(&key, &keys, &at(now))
            .expect("the signature matches the request");
    }
}
