//! Fuzzes request targets, parsed in every way. Checks that the URL of an entity with a valid table name leads back to
//! the entity.
//!
//! Input: the target, a line feed, the host.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::TableName;
use partita_wire::table::{Operation, Resource, check_query_options, push_entity_path};
use partita_wire::{Hosts, Method, Query, Target};

fuzz_target!(|text: &str| {
    let (target, host) = text.split_once('\n').unwrap_or((text, "127.0.0.1:10002"));
    let hosts = Hosts::new(["table.localhost".to_owned()], true);
    if let Ok(target) = Target::parse(target, Some(host), &hosts, |label| label == "acct") {
        parse_all(&target);
        parse_all(&Target::parse_inner(text, &target));
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
        let again = Resource::parse(&path).expect("the URL of an entity is valid");
        assert_eq!(
            again,
            Resource::Entity {
                table,
                partition_key,
                row_key
            }
        );
    }
    read_query(Query::new(text));
});

fn parse_all(target: &Target<'_>) {
    let _ = target.base("http");
    read_query(target.query);
    let Ok(resource) = Resource::of(target) else {
        return;
    };
    for method in ["GET", "POST", "PUT", "MERGE", "DELETE", "OPTIONS"] {
        let method = Method::parse(method).expect("a known verb");
        let _ = Operation::of(target, method, &resource, true);
        let _ = Operation::of(target, method, &resource, false);
    }
}

fn read_query(query: Query<'_>) {
    let _ = query.timeout_seconds();
    let _ = check_query_options(query);
    for name in ["$filter", "$top", "NextPartitionKey", "comp"] {
        let _ = query.get(name);
        let _ = query.get_base64(name);
        let _ = query.has(name);
    }
}
