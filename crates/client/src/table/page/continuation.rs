//! Where a query goes on.

use crate::pipeline::Reply;
use partita_wire::{Query, push_query_parameter};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

const PARTITION_KEY: &str = "NextPartitionKey";
const ROW_KEY: &str = "NextRowKey";
const TABLE_NAME: &str = "NextTableName";

/// Where the next page of a query begins, as the server said it: opaque, and good for a later run of the program. Its text
/// (`Display`, `FromStr`) can be kept and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation(Vec<(&'static str, String)>);

/// The text is no continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not the text of a continuation")]
pub struct InvalidContinuation;

impl Continuation {
    /// Where a query of entities goes on, from the values of `x-ms-continuation-NextPartitionKey` and `-NextRowKey` as they came.
    #[must_use]
    pub fn from_tokens(next_partition_key: &str, next_row_key: Option<&str>) -> Self {
        let mut tokens = vec![(PARTITION_KEY, next_partition_key.to_owned())];
        tokens.extend(next_row_key.map(|token| (ROW_KEY, token.to_owned())));
        Self(tokens)
    }

    /// The tokens of a query of entities: that for NextPartitionKey, and that for NextRowKey, which may be absent. `None` for a
    /// query of tables.
    #[must_use]
    pub fn tokens(&self) -> Option<(&str, Option<&str>)> {
        let token = |name| {
            let mut tokens = self.parameters();
            tokens.find_map(|(other, token)| (other == name).then_some(token))
        };
        Some((token(PARTITION_KEY)?, token(ROW_KEY)))
    }

    pub(crate) fn of_entities(reply: &Reply) -> Option<Self> {
        Self::of(reply, &[PARTITION_KEY, ROW_KEY])
    }

    pub(crate) fn of_tables(reply: &Reply) -> Option<Self> {
        Self::of(reply, &[TABLE_NAME])
    }

    /// The first header says whether there is one; a NextRowKey may be absent (protocol: "Query timeout and pagination").
    fn of(reply: &Reply, names: &[&'static str]) -> Option<Self> {
        let header = |name: &str| {
            let value = reply.header(&format!("x-ms-continuation-{name}"))?;
            (!value.is_empty()).then(|| value.to_owned())
        };
        let found = names.iter().filter_map(|name| Some((*name, header(name)?)));
        let found: Vec<_> = found.collect();
        (!found.is_empty()).then_some(Self(found))
    }

    /// The query parameters that it stands for.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, token)| (*name, token.as_str()))
    }
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
        let token = |name: &'static str| {
            let token = query.get(name).map_err(|_| InvalidContinuation)?;
            Ok(token.map(|token| (name, token.into_owned())))
        };
        let found = [token(PARTITION_KEY)?, token(ROW_KEY)?, token(TABLE_NAME)?];
        let found: Vec<_> = found
            .into_iter()
            .flatten()
            .filter(|(_, token)| !token.is_empty())
            .collect();
        match found.first() {
            Some((first, _)) if *first != ROW_KEY => Ok(Self(found)),
            _ => Err(InvalidContinuation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn others_are_refused() {
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
        fn its_text_is_read_back(partition_key in ".+", row_key in proptest::option::of(".+")) {
            let continuation = Continuation::from_tokens(&partition_key, row_key.as_deref());
            prop_assert_eq!(continuation.tokens(), Some((&*partition_key, row_key.as_deref())));
            prop_assert_eq!(continuation.to_string().parse(), Ok(continuation));
        }
    }
}
