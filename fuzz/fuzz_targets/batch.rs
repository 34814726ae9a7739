//! Fuzzes the body of a batch. Input: the value of `Content-Type`, a line feed, the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_wire::table::{Operation, Resource, read_batch, tunnelled_method};
use partita_wire::{Hosts, Method, Target};

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (content_type, body) = data.split_at(end);
    let Ok(content_type) = std::str::from_utf8(content_type) else {
        return;
    };
    let Ok(batch) = read_batch(content_type, body) else {
        return;
    };
    assert_eq!(batch.check_count().is_ok(), batch.parts.len() <= 100);
    assert!(batch.parts.len() <= 101);
    assert!(batch.in_change_set || batch.parts.len() == 1);
    let hosts = Hosts::new([], true);
    let outer = Target::parse(
        "/devstoreaccount1/$batch",
        Some("127.0.0.1"),
        &hosts,
        |_| false,
    )
    .expect("a batch's target");
    for part in &batch.parts {
        let inner = Target::parse_inner(part.target, &outer);
        assert_eq!(inner.account, outer.account);
        let Ok(resource) = Resource::of(&inner) else {
            continue;
        };
        if let Ok(method) = Method::parse(part.method)
            && let Ok(method) = tunnelled_method(method, part.x_http_method)
        {
            let _ = Operation::of(&inner, method, &resource, part.if_match.is_some());
        }
    }
});
