//! The text of an error with its causes.

use std::error::Error;

/// An error with its causes, each after a colon. Some errors repeat their cause in their own text; it is then written
/// once.
#[must_use]
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
