//! The texts of errors: one line for people, and the same line with kind and outcome for programmers.

use super::{Error, Inner, Outcome};
use std::fmt;

/// The most characters of a subject in a text. Keys have up to 1 KiB.
const SUBJECT_CHARS_MAX: usize = 200;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        if let Some((operation, subject)) = &inner.about {
            f.write_str(operation)?;
            if !subject.is_empty() {
                f.write_str(" ")?;
                write_subject(f, subject)?;
            }
            f.write_str(": ")?;
        }
        if let Some(answer) = &inner.answer {
            if let Some(index) = answer.operation_index {
                write!(f, "operation {index}: ")?;
            }
            write!(f, "{}", answer.status)?;
            if !answer.code.is_empty() {
                write!(f, " {}", answer.code)?;
            }
            f.write_str(": ")?;
        }
        write_causes(f, inner)?;
        if inner.outcome == Outcome::MayHaveHappened {
            f.write_str(" (it may have happened)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(
            f,
            "Error({:?}, {:?}, \"{self}\")",
            inner.kind, inner.outcome
        )
    }
}

/// The subject, shortened, with control characters escaped.
fn write_subject(f: &mut fmt::Formatter<'_>, subject: &str) -> fmt::Result {
    for character in subject.chars().take(SUBJECT_CHARS_MAX) {
        if character.is_control() {
            write!(f, "{}", character.escape_default())?;
        } else {
            write!(f, "{character}")?;
        }
    }
    if subject.chars().nth(SUBJECT_CHARS_MAX).is_some() {
        f.write_str("…")?;
    }
    Ok(())
}

/// The message and its causes, each on its first line. The service appends lines with request id and time, for which
/// `Error` has fields. Some causes repeat the text of their own cause, which is then written once.
fn write_causes(f: &mut fmt::Formatter<'_>, inner: &Inner) -> fmt::Result {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let mut written = first_line(&inner.message);
    f.write_str(&written)?;
    let mut next = inner
        .cause
        .as_deref()
        .map(|cause| cause as &dyn std::error::Error);
    while let Some(cause) = next {
        let text = first_line(&cause.to_string());
        if !written.ends_with(&text) {
            write!(f, ": {text}")?;
            written = text;
        }
        next = cause.source();
    }
    Ok(())
}
