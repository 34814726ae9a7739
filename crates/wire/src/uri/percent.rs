//! Percent-encoding of query parameters, and decoding of paths and queries.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;

/// Characters that need no encoding in any query (RFC 3986, "unreserved").
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Appends `name=value` to a query, after `&` unless it is the first parameter. Encodes only the value: names are fixed
/// by the protocol.
pub fn push_query_parameter(name: &str, value: &str, query: &mut String) {
    if !query.is_empty() {
        query.push('&');
    }
    query.push_str(name);
    query.push('=');
    query.extend(utf8_percent_encode(value, UNRESERVED));
}

/// Decodes a path segment. Like the service's front end, it refuses a `%` that does not start an escape.
///
/// `None`: an invalid escape, or bytes that are not UTF-8.
pub fn decode_path(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    decode(text, b'+', None)
}

/// Decodes a name or value of a query string. `+` is a space, as in forms. A `%` that does not start an escape is
/// literal, as in the service's own framework.
///
/// `None`: bytes that are not UTF-8.
pub(crate) fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Some(Cow::Borrowed(text));
    }
    decode(text, b' ', Some(b'%'))
}

/// Like [`decode_query`], but `+` is literal: for signatures, because Base64 has no spaces.
pub(super) fn decode_query_keeping_plus(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    decode(text, b'+', Some(b'%'))
}

/// Decodes escapes. Replaces `+` by `plus`, and a `%` that does not start an escape by `stray`; without `stray`, such a
/// `%` is an error. Returns `None` on an error, and for bytes that are not UTF-8.
fn decode(text: &str, plus: u8, stray: Option<u8>) -> Option<Cow<'_, str>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'%' => match escape(rest) {
                Some((escaped, after)) => {
                    rest = after;
                    escaped
                }
                None => stray?,
            },
            b'+' => plus,
            other => other,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The byte encoded by the two hex digits after a `%`, and the remaining text.
fn escape(rest: &[u8]) -> Option<(u8, &[u8])> {
    let (&[high, low], rest) = rest.split_first_chunk::<2>()?;
    Some((hex(high)? << 4 | hex(low)?, rest))
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Query;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parameters_are_read_as_written(filter: String, token: String) {
            let mut query = String::new();
            push_query_parameter("$filter", &filter, &mut query);
            push_query_parameter("NextRowKey", &token, &mut query);
            let read = Query::new(&query);
            prop_assert_eq!(read.get("$filter").unwrap().unwrap(), filter);
            prop_assert_eq!(read.get("NextRowKey").unwrap().unwrap(), token);
            prop_assert!(query.is_ascii() && !query.contains([' ', '+', '#']));
        }
    }
}
