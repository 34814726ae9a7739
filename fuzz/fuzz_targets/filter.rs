//! Fuzzes `$filter`: parsing and evaluation. Checks that `not` inverts a filter.

#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use partita_model::{DateTime, Entity, Filter, PropertiesBuilder, Stored, ValueRef};
use partita_wire::table::parse_filter;

fuzz_target!(|text: &str| {
    let Ok(filter) = parse_filter(text) else {
        return;
    };
    let mut properties = PropertiesBuilder::new(64);
    for (name, value) in [
        ("A", ValueRef::Int32(5)),
        ("B", ValueRef::String("text")),
        ("C", ValueRef::Double(f64::NAN)),
        ("D", ValueRef::Boolean(true)),
    ] {
        properties.push(name, value).expect("a plain property");
    }
    let timestamp = DateTime::parse("2026-01-01T00:00:00Z").expect("a date");
    let bytes = properties.finish().into_stored(timestamp);
    let row = Entity {
        partition_key: Cow::Borrowed("p"),
        row_key: Cow::Borrowed("r"),
        stored: Stored::open(&bytes).expect("stored bytes can be opened"),
    };
    let passes = filter.matches(&row).expect("the row can be read");
    let negated = Filter::Not(Box::new(filter));
    assert_ne!(negated.matches(&row).expect("the row can be read"), passes);
});
