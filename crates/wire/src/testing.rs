//! Helpers that the tests of several modules use: targets, keys, callers, and strategies for values.

use crate::table::TableSas;
use crate::{
    AccountKey, Caller, Credentials, ErrorCode, Failure, Hosts, Occurrence, Query, Target, Version,
};
use partita_model::{DateTime, Guid, Properties, PropertiesBuilder, Value};
use proptest::prelude::*;

/// The account of the emulator. Official clients signed the test vectors with its key.
pub(crate) const ACCOUNT: &str = "devstoreaccount1";
pub(crate) const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

pub(crate) fn key() -> AccountKey {
    AccountKey::from_base64(KEY).unwrap()
}

pub(crate) fn time(text: &str) -> DateTime {
    DateTime::parse(text).unwrap()
}

/// A caller shortly after the time of the test vectors, from an address that their terms permit.
pub(crate) fn caller() -> Caller {
    Caller {
        now: time("2024-01-02T03:10:00Z"),
        address: Some([10, 0, 0, 5].into()),
        https: true,
    }
}

pub(crate) fn credentials<'a>(
    header: Option<&'a str>,
    query: &'a str,
) -> Result<Credentials<'a, TableSas<'a>>, Failure> {
    Credentials::parse(header, Query::new(query), Version::parse("2019-02-02"))
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> ErrorCode {
    result.unwrap_err().code
}

/// Rules for hosts with two suffixes, and with product style.
pub(crate) fn hosts() -> Hosts {
    Hosts::new(
        [".table.localhost".to_owned(), "Table.Example".to_owned()],
        true,
    )
}

/// A target on a server whose only account is `acct`.
pub(crate) fn target<'a>(target: &'a str, host: &'a str) -> Target<'a> {
    Target::parse(target, Some(host), &hosts(), |account| account == "acct").unwrap()
}

/// A failure in the operation of this index of a batch.
pub(crate) fn occurrence(batch_index: usize) -> Occurrence<'static> {
    Occurrence {
        request_id: "id",
        time: DateTime::UNIX_EPOCH,
        batch_index: Some(batch_index),
    }
}

/// Any value except minus zero, which is stored as zero, and NaNs other than the usual one, since JSON has one NaN.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let times = DateTime::MIN.ticks()..=DateTime::MAX.ticks();
    prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<Vec<u8>>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(|bits| match f64::from_bits(bits) {
            value if value.is_nan() => Value::Double(f64::NAN),
            value => Value::Double(value + 0.0),
        }),
        Just(Value::Double(f64::NAN)),
        Just(Value::Double(f64::NEG_INFINITY)),
        times.prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks).unwrap())),
        any::<[u8; 16]>().prop_map(|bytes| Value::Guid(Guid(bytes))),
    ]
}

/// The stored form of properties.
pub(crate) fn stored<'v>(
    properties: impl IntoIterator<Item = (&'v String, &'v Value)>,
) -> Properties {
    let mut builder = PropertiesBuilder::new(64);
    for (name, value) in properties {
        builder.push(name, value.as_ref()).unwrap();
    }
    builder.finish()
}
