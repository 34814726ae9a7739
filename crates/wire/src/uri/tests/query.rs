//! Tests of query parameters.

use crate::ErrorCode;
use crate::testing::code;
use crate::uri::Query;

#[test]
fn parameters_are_read() {
    let query =
        Query::new("%24filter=a%20eq+'b%2Bc'&$top=3&$TOP=4&empty&x=100%&bad=%FF&sig=a+b%2F%3D");
    assert_eq!(query.get("$filter").unwrap().unwrap(), "a eq 'b+c'");
    assert_eq!(query.get("$top").unwrap().unwrap(), "3");
    assert_eq!(query.get("empty").unwrap().unwrap(), "");
    assert_eq!(query.get("x").unwrap().unwrap(), "100%");
    assert_eq!(query.get("none"), Ok(None));
    assert_eq!(query.get_base64("sig").unwrap().unwrap(), "a+b/=");
    assert_eq!(
        code(query.get("bad")),
        ErrorCode::InvalidQueryParameterValue
    );
}

#[test]
fn signatures_are_not_logged() {
    let query = Query::new("sv=1&sig=secret&SIG=secret&%73ig=secret&%FF=secret");
    let logged = format!("{query:?}");
    assert!(
        !logged.contains("secret") && logged.contains("\"sv\": \"1\""),
        "{logged}"
    );
}

#[test]
fn timeouts() {
    let timeout = |text| {
        Query::new(text)
            .timeout_seconds()
            .map_err(|failure| failure.code)
    };
    assert_eq!(timeout(""), Ok(None));
    assert_eq!(timeout("timeout=5"), Ok(Some(5)));
    assert_eq!(timeout("timeout=99999999999999"), Ok(Some(30)));
    assert_eq!(
        timeout("timeout=0"),
        Err(ErrorCode::OutOfRangeQueryParameterValue)
    );
    assert_eq!(
        timeout("timeout=-1"),
        Err(ErrorCode::InvalidQueryParameterValue)
    );
    assert_eq!(
        timeout("timeout="),
        Err(ErrorCode::InvalidQueryParameterValue)
    );
}
