use super::*;
use crate::testing::code;
use crate::{ErrorCode, Failure};
use proptest::prelude::*;

/// A version before times to live over seven days, and one after.
const OLD: &str = "2016-05-31";
const NEW: &str = "2019-02-02";

fn put(query: &str, version: &str) -> Result<(u64, Option<u64>), Failure> {
    let version = Version::parse(version).unwrap();
    let parameters = PutParameters::parse(Query::new(query), version)?;
    let time_to_live = parameters.time_to_live.map(|ttl| ttl.as_secs());
    Ok((parameters.visibility_timeout.as_secs(), time_to_live))
}

fn get(query: &str, version: &str) -> Result<(usize, u64), Failure> {
    let version = Version::parse(version).unwrap();
    let parameters = GetParameters::parse(Query::new(query), version)?;
    Ok((parameters.count, parameters.visibility_timeout.as_secs()))
}

fn update(query: &str) -> Result<(String, u64), Failure> {
    let version = Version::parse(NEW).unwrap();
    let parameters = UpdateParameters::parse(Query::new(query), version)?;
    let receipt = parameters.pop_receipt.into_owned();
    Ok((receipt, parameters.visibility_timeout.as_secs()))
}

#[test]
fn times_of_put_message_depend_on_the_version() {
    let week = 604_800;
    for (query, version, expected) in [
        ("", NEW, (0, Some(week))),
        ("visibilitytimeout=3&messagettl=-1", NEW, (3, None)),
        ("messagettl=604801", NEW, (0, Some(604_801))),
        (
            "messagettl=99999999999999999999",
            NEW,
            (0, Some(i64::MAX as u64)),
        ),
        (
            "visibilitytimeout=604800&messagettl=604801",
            NEW,
            (week, Some(604_801)),
        ),
        ("visibilitytimeout=604800&messagettl=-1", NEW, (week, None)),
        ("messagettl=604800", OLD, (0, Some(week))),
        ("visibilitytimeout=39&messagettl=40", OLD, (39, Some(40))),
    ] {
        assert_eq!(put(query, version), Ok(expected), "{query}");
    }
    let range = ErrorCode::OutOfRangeQueryParameterValue;
    let invalid = ErrorCode::InvalidQueryParameterValue;
    for (query, version, expected) in [
        ("visibilitytimeout=-1", NEW, range),
        ("visibilitytimeout=604801", NEW, range),
        ("visibilitytimeout=", NEW, invalid),
        ("visibilitytimeout=1.5", NEW, invalid),
        ("visibilitytimeout=604800", NEW, invalid),
        ("messagettl=0", NEW, invalid),
        ("messagettl=-2", NEW, invalid),
        ("messagettl=x", NEW, invalid),
        ("messagettl=-1", OLD, invalid),
        ("messagettl=604801", OLD, range),
    ] {
        assert_eq!(code(put(query, version)), expected, "{query}");
    }
}

/// Recording js--queueclient_message_methods_enqueue_peek_and_dequeue_negative.
#[test]
fn a_message_must_outlive_its_visibility_timeout() {
    let refused = put("messagettl=30&visibilitytimeout=30", NEW).unwrap_err();
    let details = [
        ("QueryParameterName", "visibilitytimeout"),
        ("QueryParameterValue", "30"),
        (
            "Reason",
            "messagettl must be greater than visibilitytimeout",
        ),
    ];
    assert_eq!(
        refused.details,
        details.map(|(name, text)| (name, text.to_owned()))
    );
}

#[test]
fn get_and_peek_take_up_to_32_messages() {
    assert_eq!(get("", NEW), Ok((1, 30)));
    assert_eq!(
        get("numofmessages=32&visibilitytimeout=604800", NEW),
        Ok((32, 604_800))
    );
    assert_eq!(get("visibilitytimeout=7200", "2009-09-19"), Ok((1, 7200)));
    for (query, version) in [
        ("visibilitytimeout=0", NEW),
        ("visibilitytimeout=7201", "2009-09-19"),
        ("numofmessages=0", NEW),
    ] {
        let refused = code(get(query, version));
        assert_eq!(refused, ErrorCode::OutOfRangeQueryParameterValue, "{query}");
    }
    let peek = |query| peek_count(Query::new(query));
    assert_eq!(
        (peek("peekonly=true"), peek("numofmessages=4")),
        (Ok(1), Ok(4))
    );
    assert_eq!(
        code(peek("numofmessages=x")),
        ErrorCode::InvalidQueryParameterValue
    );
    let refused = peek("numofmessages=100").unwrap_err();
    let details = [
        ("QueryParameterName", "numofmessages"),
        ("QueryParameterValue", "100"),
        ("MinimumAllowed", "1"),
        ("MaximumAllowed", "32"),
    ];
    assert_eq!(
        refused.details,
        details.map(|(name, text)| (name, text.to_owned()))
    );
}

#[test]
fn update_needs_receipt_and_timeout() {
    let receipt = "AgAA+AM/=".to_owned();
    for query in [
        "popreceipt=AgAA%2BAM%2F%3D&visibilitytimeout=0",
        "popreceipt=AgAA+AM/=&visibilitytimeout=0",
    ] {
        assert_eq!(update(query), Ok((receipt.clone(), 0)), "{query}");
    }
    assert_eq!(
        update("popreceipt=&visibilitytimeout=7"),
        Ok((String::new(), 7))
    );
    for (query, missing) in [
        ("popreceipt=x", "visibilitytimeout"),
        ("visibilitytimeout=0", "popreceipt"),
    ] {
        let refused = update(query).unwrap_err();
        assert_eq!(refused.code, ErrorCode::MissingRequiredQueryParameter);
        let detail = ("QueryParameterName", missing.to_owned());
        assert_eq!(refused.details, [detail]);
    }
    let refused = code(update("popreceipt=x&visibilitytimeout=604801"));
    assert_eq!(refused, ErrorCode::OutOfRangeQueryParameterValue);
}

proptest! {
    #[test]
    fn any_query_is_read_or_refused(query: String, shaped in "(popreceipt|numofmessages|visibilitytimeout|messagettl|=|&|-|[0-9]){0,12}") {
        for query in [&query, &shaped] {
            for version in ["2009-09-19", OLD, NEW] {
                let _ = (put(query, version), get(query, version));
            }
            let _ = (update(query), peek_count(Query::new(query)), pop_receipt(Query::new(query)));
        }
    }
}
