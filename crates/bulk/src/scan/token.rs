//! The resume token: the open steps of a scan, encoded as one word.

use super::query::{Emit, Query};
use super::step::Step;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The prefix of every token, which contains the version of the format.
const BEGIN: &str = "scan1.";

/// The position of a scan: its query, and the steps that cover the rows not yet returned. Page size, jobs and order may
/// change when the scan resumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeToken {
    filter: Option<String>,
    emit: Emit,
    steps: Vec<Step>,
}

/// Why a scan cannot resume from a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidToken {
    /// The text is not a token of this version.
    #[error("not a resume token of a scan")]
    Malformed,
    /// The token's scan had another filter, or another selection of rows.
    #[error("the resume token belongs to a scan with another filter or row selection")]
    OtherQuery,
}

impl ResumeToken {
    /// A token for these open steps of a query.
    pub fn new(query: &Query, steps: Vec<Step>) -> Self {
        let options = query.options();
        Self {
            filter: options.filter.clone(),
            emit: options.emit,
            steps,
        }
    }

    /// The steps with which the same query resumes; empty if all rows are returned.
    ///
    /// # Errors
    /// [`InvalidToken::OtherQuery`].
    pub fn into_steps(self, query: &Query) -> Result<Vec<Step>, InvalidToken> {
        let options = query.options();
        if (&self.filter, self.emit) == (&options.filter, options.emit) {
            Ok(self.steps)
        } else {
            Err(InvalidToken::OtherQuery)
        }
    }
}

impl fmt::Display for ResumeToken {
    /// Writes one word that needs no quotes in a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_vec(self).map_err(|_| fmt::Error)?;
        write!(f, "{BEGIN}{}", URL_SAFE_NO_PAD.encode(text))
    }
}

impl FromStr for ResumeToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let encoded = text.trim().strip_prefix(BEGIN);
        let encoded = encoded.ok_or(InvalidToken::Malformed)?;
        let json = URL_SAFE_NO_PAD.decode(encoded);
        let json = json.map_err(|_| InvalidToken::Malformed)?;
        serde_json::from_slice(&json).map_err(|_| InvalidToken::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, QueryOptions, Strategy};
    use super::*;

    fn query(filter: &str) -> Query {
        let options = QueryOptions {
            filter: Some(filter.to_owned()),
            ..QueryOptions::default()
        };
        Query::new(options).unwrap()
    }

    #[test]
    fn round_trip() {
        let steps = Strategy::Prefix.plan(&Bounds::of_prefix("\u{FFFF}é'"), &[], 1);
        let text = ResumeToken::new(&query("n eq 1"), steps.clone()).to_string();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        assert!(text.bytes().all(plain), "{text}");
        let token: ResumeToken = text.parse().unwrap();
        assert_eq!(token.clone().into_steps(&query("n eq 1")), Ok(steps));
        let other = token.into_steps(&query("n eq 2"));
        assert_eq!(other, Err(InvalidToken::OtherQuery));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "scan1.", "scan1.e30", "scan2.e30", "scan1.!", "e30"] {
            assert_eq!(
                text.parse::<ResumeToken>(),
                Err(InvalidToken::Malformed),
                "{text}"
            );
        }
    }
}
