//! Fuzzes single headers and query options. Input: a text, parsed as each of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::{AccountName, DateTime, ETag, Guid, TableName, check_key, check_property_name};
use partita_wire::table::{MetadataLevel, Prefer, Select, parse_top};
use partita_wire::{Method, Version, http_date, parse_http_date};

fuzz_target!(|text: &str| {
    let version = Version::parse(text);
    let _ = Version::parse_header(text);
    let _ = Prefer::parse(text);
    let _ = Method::parse(text);
    let _ = Select::parse(text);
    let _ = parse_top(text);
    let _ = (TableName::new(text), AccountName::new(text));
    let _ = (check_key(text), check_property_name(text));
    for version in [version, Version::parse("2019-02-02")]
        .into_iter()
        .flatten()
    {
        let _ = MetadataLevel::choose(Some(text), None, version);
        let _ = MetadataLevel::choose(None, Some(text), version);
    }
    if let Some(date) = parse_http_date(text) {
        let _ = http_date(date);
    }
    if let Ok(date) = DateTime::parse(text) {
        assert_eq!(DateTime::parse(&date.text()), Ok(date));
        assert_eq!(DateTime::parse(&date.text_seven_digits()), Ok(date));
    }
    if let Ok(etag) = ETag::parse(text) {
        assert_eq!(ETag::parse(&etag.text()).ok(), Some(etag));
    }
    if let Ok(guid) = Guid::parse(text) {
        assert_eq!(Guid::parse(&guid.text()).ok(), Some(guid));
    }
});
