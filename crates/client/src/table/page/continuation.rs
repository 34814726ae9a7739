//! Continuations: where a query resumes.

use crate::pipeline::Reply;
use partita_model::ContinuationToken;
use partita_wire::{Query, push_query_parameter};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

const PARTITION_KEY: &str = "NextPartitionKey";
const ROW_KEY: &str = "NextRowKey";
const TABLE_NAME: &str = "NextTableName";

/// The start of the next page of a query, as the server sent it. It is opaque and stays valid: store its text
/// (`Display`, `FromStr`) to resume in a later run of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation(Resume);

/// Where a query resumes, by kind of query.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Resume {
    Entities(ContinuationToken),
    /// The value of `NextTableName`.
    Tables(String),
}

/// The text is not a valid continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("invalid continuation; pass the text of an earlier one unchanged")]
pub struct InvalidContinuation;

impl From<ContinuationToken> for Continuation {
    fn from(token: ContinuationToken) -> Self {
        Self(Resume::Entities(token))
    }
}

impl Continuation {
    /// The token of a query of entities; `None` for a query of tables.
    #[must_use]
    pub fn token(&self) -> Option<&ContinuationToken> {
        match &self.0 {
            Resume::Entities(token) => Some(token),
            Resume::Tables(_) => None,
        }
    }

    /// The continuation in an answer's headers; `None` if both are missing. The server may omit one of them (protocol:
    /// "Query timeout and pagination").
    pub(crate) fn of_entities(reply: &Reply) -> Option<Self> {
        let (partition_key, row_key) = (header(reply, PARTITION_KEY), header(reply, ROW_KEY));
        if partition_key.is_none() && row_key.is_none() {
            return None;
        }
        Some(Self::from(ContinuationToken {
            next_partition_key: partition_key.unwrap_or_default(),
            next_row_key: row_key,
        }))
    }

    pub(crate) fn of_tables(reply: &Reply) -> Option<Self> {
        header(reply, TABLE_NAME).map(|name| Self(Resume::Tables(name)))
    }

    /// The query parameters of the next page, without empty ones.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let parameters = match &self.0 {
            Resume::Entities(token) => [
                Some((PARTITION_KEY, token.next_partition_key.as_str())),
                token.next_row_key.as_deref().map(|text| (ROW_KEY, text)),
            ],
            Resume::Tables(name) => [Some((TABLE_NAME, name.as_str())), None],
        };
        parameters
            .into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_empty())
    }
}

fn header(reply: &Reply, name: &str) -> Option<String> {
    let value = reply.header(&format!("x-ms-continuation-{name}"))?;
    (!value.is_empty()).then(|| value.to_owned())
}

impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (name, token) in self.parameters() {
            push_query_parameter(name, token, &mut text);
        }
        f.write_str(&text)
    }
}

impl FromStr for Continuation {
    type Err = InvalidContinuation;

    fn from_str(text: &str) -> Result<Self, InvalidContinuation> {
        let query = Query::new(text);
        let value = |name: &'static str| {
            let value = query.get(name).map_err(|_| InvalidContinuation)?;
            Ok(value
                .filter(|value| !value.is_empty())
                .map(|value| value.into_owned()))
        };
        match (value(PARTITION_KEY)?, value(ROW_KEY)?, value(TABLE_NAME)?) {
            (Some(next_partition_key), next_row_key, None) => Ok(Self::from(ContinuationToken {
                next_partition_key,
                next_row_key,
            })),
            (None, None, Some(name)) => Ok(Self(Resume::Tables(name))),
            _ => Err(InvalidContinuation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_continuations_are_refused() {
        for text in [
            "",
            "x",
            "NextRowKey=1",
            "NextPartitionKey=",
            "NextPartitionKey=%FF",
        ] {
            assert!(text.parse::<Continuation>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn texts_round_trip(partition_key in ".+", row_key in proptest::option::of(".+")) {
            let token = ContinuationToken {
                next_partition_key: partition_key,
                next_row_key: row_key,
            };
            let continuation = Continuation::from(token.clone());
            prop_assert_eq!(continuation.token(), Some(&token));
            prop_assert_eq!(continuation.to_string().parse(), Ok(continuation));
        }
    }
}
