//! An invalid filter as a message for a terminal: what is wrong, the filter, and a mark under the wrong part.

use super::parse_filter;
use crate::Failure;
use partita_model::Filter;
use std::fmt;

/// Maximum number of characters of the filter that are shown before and after the wrong part.
const CONTEXT: usize = 40;
/// Maximum number of characters that are marked.
const MARKED_MAX: usize = 40;

/// Why a text is not a filter that Tables accepts, with the wrong part marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidFilter {
    filter: String,
    failure: Box<Failure>,
}

/// Like [`parse_filter`], with an error for people.
///
/// # Errors
/// As [`parse_filter`].
pub fn check_filter(text: &str) -> Result<Filter, InvalidFilter> {
    parse_filter(text).map_err(|failure| InvalidFilter {
        filter: text.to_owned(),
        failure: Box::new(failure),
    })
}

impl fmt::Display for InvalidFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(hint) = &self.failure.hint else {
            return write!(f, "invalid filter: {}", self.failure.text());
        };
        let part = |from: usize, to: usize| self.filter.get(from..to).unwrap_or_default();
        let before = part(0, hint.start).chars().rev().take(CONTEXT);
        let before: Vec<char> = before.collect();
        let before: String = before.into_iter().rev().map(visible).collect();
        let wrong = part(hint.start, hint.end).chars().take(MARKED_MAX);
        let wrong: String = wrong.map(visible).collect();
        let after = part(hint.start, self.filter.len()).chars();
        let after = after.skip(wrong.chars().count()).take(CONTEXT);
        let after: String = after.map(visible).collect();
        let (margin, marks) = (before.chars().count(), wrong.chars().count().max(1));
        let marks = "^".repeat(marks);
        let what: String = hint.text.chars().map(visible).collect();
        write!(
            f,
            "invalid filter: {what}\n  {before}{wrong}{after}\n  {:margin$}{marks}",
            ""
        )
    }
}

impl std::error::Error for InvalidFilter {}

/// A character that does not move the cursor.
fn visible(letter: char) -> char {
    if letter.is_control() { '?' } else { letter }
}
