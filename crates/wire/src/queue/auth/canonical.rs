//! The canonical forms of headers and queries in the string to sign (service document "Authorize with Shared Key").

use crate::uri::decode_query;
use crate::{Query, Version};
use std::borrow::Cow;

/// The first version that signs headers without a value.
const EMPTY_HEADERS: Version = Version::from_date(20_160_531);

/// The ways in which clients write the signed headers. They differ only for exotic names and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderForm {
    /// Ordered by bytes, values as sent: what clients send, with few exceptions.
    Plain,
    /// As [`Self::Plain`], with blanks inside a value replaced by one blank, as the document says.
    Folded,
    /// As [`Self::Plain`], in the order of the official clients: `-` does not count, `_` is before digits.
    ClientOrder,
}

impl HeaderForm {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Folded, Self::ClientOrder];

    /// The headers that begin with `x-ms-`: `name:value` and a line feed each, ordered by name.
    pub(super) fn headers(self, headers: &[(&str, &str)], version: Option<Version>) -> String {
        let keeps_empty = version.is_some_and(|version| version >= EMPTY_HEADERS);
        let mut signed: Vec<(String, Cow<'_, str>)> = headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), self.value(value)))
            .filter(|(name, value)| name.starts_with("x-ms-") && (keeps_empty || !value.is_empty()))
            .collect();
        match self {
            // The sort is stable, so that the values of a repeated header keep their order.
            Self::Plain | Self::Folded => signed.sort_by(|(one, _), (two, _)| one.cmp(two)),
            Self::ClientOrder => signed.sort_by_cached_key(|(name, _)| client_key(name)),
        }
        let mut out = String::with_capacity(256);
        for values in signed.chunk_by(|(one, _), (two, _)| one == two) {
            push_line(values, &mut out);
            out.push('\n');
        }
        out
    }

    fn value(self, value: &str) -> Cow<'_, str> {
        let value = value.trim();
        if self == Self::Folded && value.contains([' ', '\t']) {
            return value
                .split_ascii_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .into();
        }
        value.into()
    }
}

fn client_key(name: &str) -> (String, String) {
    let weighed = name.chars().filter(|c| *c != '-');
    let weighed = weighed.map(|c| if c == '_' { '!' } else { c });
    (weighed.collect(), name.to_owned())
}

/// The parameters of the query, decoded: a line feed and `name:value` each, ordered by name; the values of a repeated
/// parameter ordered and joined by commas.
pub(super) fn query_lines(query: Query<'_>) -> String {
    let decoded = |raw| decode_query(raw).unwrap_or(Cow::Borrowed(raw));
    let mut parameters: Vec<(String, Cow<'_, str>)> = query
        .pairs()
        .map(|(name, value)| (decoded(name).to_lowercase(), decoded(value)))
        .collect();
    parameters.sort();
    let mut out = String::with_capacity(query.raw().len() + 16);
    for values in parameters.chunk_by(|(one, _), (two, _)| one == two) {
        out.push('\n');
        push_line(values, &mut out);
    }
    out
}

/// Appends `name:value,value`, for pairs of one name.
fn push_line(values: &[(String, Cow<'_, str>)], out: &mut String) {
    for (index, (name, value)) in values.iter().enumerate() {
        if index == 0 {
            out.push_str(name);
        }
        out.push(if index == 0 { ':' } else { ',' });
        out.push_str(value);
    }
}
