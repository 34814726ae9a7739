//! Request targets: taken apart in every way, and an entity's own URL leads back to it, if its table can be one.
//!
//! Input: the target, a line end, the host.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::TableName;
use partita_wire::{Hosts, Method, Query, Resource, Target, push_entity_path};

fuzz_target!(|text: &str| {
    let (target, host) = text.split_once('\n').unwrap_or((text, "127.0.0.1:10002"));
    let hosts = Hosts::new(["table.localhost".to_owned()], true);
    if let Ok(target) = Target::parse(target, Some(host), &hosts, |label| label == "acct") {
        take_apart(&target);
        take_apart(&Target::parse_inner(text, &target));
    }
    if let Ok(Resource::Entity {
        table,
        partition_key,
        row_key,
    }) = Resource::parse(target)
        && TableName::new(&table).is_ok()
    {
        let mut path = b"/".to_vec();
        push_entity_path(&table, &partition_key, &row_key, &mut path);
        let path = String::from_utf8(path).expect("a URL is ASCII");
        let again = Resource::parse(&path).expect("an own URL is right");
        assert_eq!(
            again,
            Resource::Entity {
                table,
                partition_key,
                row_key
            }
        );
    }
    take_query(Query::new(text));
});

fn take_apart(target: &Target<'_>) {
    let mut base = String::new();
    target.write_base("http", &mut base);
    take_query(target.query);
    let Ok(resource) = target.resource() else {
        return;
    };
    for method in ["GET", "POST", "PUT", "MERGE", "DELETE", "OPTIONS"] {
        let method = Method::parse(method).expect("a known verb");
        let _ = target.operation(method, &resource, true);
        let _ = target.operation(method, &resource, false);
    }
}

fn take_query(query: Query<'_>) {
    let _ = query.timeout_seconds();
    let _ = query.check_options();
    for name in ["$filter", "$top", "NextPartitionKey", "comp"] {
        let _ = query.get(name);
        let _ = query.get_base64(name);
        let _ = query.has(name);
    }
}
