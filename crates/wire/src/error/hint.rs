//! What to change in a wrong text, and where. The service's own texts often say only that something is wrong.

use std::fmt;

/// Maximum length of a hint in a header, in bytes.
const HEADER_BYTES_MAX: usize = 240;

/// What is wrong with a part of a text, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Start of the wrong part in the text, in bytes.
    pub start: usize,
    /// End of the wrong part.
    pub end: usize,
    /// Number of the first wrong character, from 1.
    pub column: usize,
    /// What is wrong, and what to write instead. It may quote the text.
    pub text: String,
}

impl Hint {
    /// A hint for the bytes from `start` to `end` of `source`.
    pub(crate) fn new(source: &str, start: usize, end: usize, text: impl Into<String>) -> Self {
        let before = source.get(..start).unwrap_or(source);
        Self {
            start,
            end,
            column: before.chars().count() + 1,
            text: text.into(),
        }
    }

    /// The value of the header `x-partita-hint`: printable ASCII of limited length. Other characters, which come from
    /// the request, are shown as `?`.
    pub fn header(&self) -> String {
        let whole = self.to_string();
        let printable = whole.chars().map(|c| match c {
            ' '..='~' => c,
            _ => '?',
        });
        printable.take(HEADER_BYTES_MAX).collect()
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: {}", self.column, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_short_printable_ascii() {
        let hint = Hint::new("é = x", 3, 4, "a\r\nX: y\u{7f}é");
        assert_eq!(hint.header(), "character 3: a??X: y??");
        let long = Hint::new("", 0, 0, "é".repeat(5000));
        assert_eq!(long.header().len(), HEADER_BYTES_MAX);
    }
}
