//! The query part of a request target, decoded on demand.

use super::percent;
use crate::{ErrorCode, Failure, split};
use memchr::memchr;
use std::borrow::Cow;
use std::fmt;

/// The maximum timeout of a request, which is also the default, in seconds (service document "Setting Timeouts for
/// Table service operations").
pub const TIMEOUT_SECONDS_MAX: u32 = 30;

/// A raw query string, without the `?`.
///
/// Names are compared without regard to ASCII case and may be percent-encoded (`%24filter`). If several parameters have
/// the same name, the first one is used. The `Debug` form can be logged: it shows the values of only a few parameters.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    /// The raw query of a request target.
    pub const fn new(raw: &'a str) -> Self {
        Self(raw)
    }

    /// The raw text.
    pub const fn raw(self) -> &'a str {
        self.0
    }

    /// The decoded value of a parameter; empty for a parameter without `=`.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue if the value is not UTF-8.
    pub fn get(self, name: &str) -> Result<Option<Cow<'a, str>>, Failure> {
        self.decoded(name, percent::decode_query)
    }

    /// Like [`Self::get`] for a Base64 value: a raw `+` is literal.
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue if the value is not UTF-8.
    pub fn get_base64(self, name: &str) -> Result<Option<Cow<'a, str>>, Failure> {
        self.decoded(name, percent::decode_query_keeping_plus)
    }

    /// Whether the query has a parameter of this name.
    pub fn has(self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether a parameter with one of these names, at most 32, occurs more than once.
    pub(crate) fn repeats_any(self, names: &[&str]) -> bool {
        let mut seen = 0_u32;
        self.pairs().any(|(raw, _)| {
            let Some(name) = percent::decode_query(raw) else {
                return false;
            };
            let index = names
                .iter()
                .position(|known| known.eq_ignore_ascii_case(&name));
            let bit = index.map_or(0, |index| 1 << index);
            let repeated = seen & bit != 0;
            seen |= bit;
            repeated
        })
    }

    /// The `timeout` in seconds, at most [`TIMEOUT_SECONDS_MAX`].
    ///
    /// # Errors
    /// 400 InvalidQueryParameterValue, or OutOfRangeQueryParameterValue for zero.
    pub fn timeout_seconds(self) -> Result<Option<u32>, Failure> {
        let Some(text) = self.get("timeout")? else {
            return Ok(None);
        };
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Failure::query_parameter("timeout", &text));
        }
        // A number that is too large for the type counts as a long timeout.
        match text.parse().unwrap_or(u32::MAX) {
            0 => Err(ErrorCode::OutOfRangeQueryParameterValue.into()),
            seconds => Ok(Some(seconds.min(TIMEOUT_SECONDS_MAX))),
        }
    }

    fn decoded(
        self,
        name: &str,
        decode: fn(&'a str) -> Option<Cow<'a, str>>,
    ) -> Result<Option<Cow<'a, str>>, Failure> {
        let decoded = |raw| decode(raw).ok_or_else(|| Failure::query_parameter(name, raw));
        self.find(name).map(decoded).transpose()
    }

    fn find(self, name: &str) -> Option<&'a str> {
        let is_name = |raw: &str| {
            raw.eq_ignore_ascii_case(name)
                || (memchr(b'%', raw.as_bytes()).is_some()
                    && percent::decode_query(raw).is_some_and(|raw| raw.eq_ignore_ascii_case(name)))
        };
        self.pairs()
            .find_map(|(raw, value)| is_name(raw).then_some(value))
    }

    /// The parameters, names and values raw.
    pub(crate) fn pairs(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        split::all(self.0, b'&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| split::once(pair, b'=').unwrap_or((pair, "")))
    }
}

/// Parameters that may be logged. Other parameters (filters, prefixes, tokens, pop receipts, key ranges and signatures) contain data or
/// secrets.
const LOGGED: [&str; 13] = [
    "comp",
    "restype",
    "timeout",
    "api-version",
    "$top",
    "$select",
    "$format",
    "numofmessages",
    "visibilitytimeout",
    "messagettl",
    "peekonly",
    "maxresults",
    "include",
];
/// Parameters of shared access signatures that may be logged.
const LOGGED_TERMS: [&str; 10] = [
    "sv", "ss", "srt", "sp", "st", "se", "spr", "sip", "tn", "si",
];

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_logged = |name: &str| {
            let mut known = LOGGED.iter().chain(&LOGGED_TERMS);
            percent::decode_query(name)
                .is_some_and(|name| known.any(|known| name.eq_ignore_ascii_case(known)))
        };
        let pairs = self
            .pairs()
            .map(|(name, value)| (name, if is_logged(name) { value } else { "…" }));
        f.debug_map().entries(pairs).finish()
    }
}
