//! Scans JSON text without building a tree: values are slices of the body.
//!
//! Invariants:
//! - every slice is a part of the text, so nothing is copied unless a string has escapes;
//! - nesting is bounded by [`NESTING_MAX`], and time is linear in the text;
//! - `None` means that the text is not JSON; the service does not report the position of the error.
//!
//! Like the service, which uses the JSON reader of the OData library, the scanner accepts unescaped control characters
//! in strings, and numbers with leading zeros.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// The maximum nesting of objects and arrays in a skipped value.
pub(crate) const NESTING_MAX: u32 = 32;

/// One value of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    /// A string without escapes.
    Plain(&'a str),
    /// A string with escapes: the raw text between its quotes.
    Escaped(&'a str),
    /// The text of a number, not yet parsed.
    Number(&'a str),
    /// `true` or `false`
    Boolean(bool),
    /// `null`
    Null,
    /// An object or an array, skipped.
    Nested,
}

impl<'a> Token<'a> {
    /// The text of a string; `None` for any other value, and for an invalid escape.
    #[inline]
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Plain(text) => Some(Cow::Borrowed(text)),
            Self::Escaped(raw) => {
                let mut text = String::with_capacity(raw.len());
                unescape(raw, &mut text)?;
                Some(Cow::Owned(text))
            }
            Self::Number(_) | Self::Boolean(_) | Self::Null | Self::Nested => None,
        }
    }
}

/// A position in a JSON text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of a body and skips a byte order mark; `None` for a body that is not UTF-8.
    pub(crate) fn new(body: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        Some(Self { text, at: 0 })
    }

    /// Skips white space.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
    }

    /// Takes this byte if it is the next one after white space.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let taken = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(taken);
        taken
    }

    /// Reads an object, member by member. `malformed` makes the error for a text that is not an object.
    #[inline]
    pub(crate) fn object<E>(
        &mut self,
        malformed: fn() -> E,
        mut member: impl FnMut(Token<'a>, Token<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.take(b'{') {
            return Err(malformed());
        }
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            let name = self.name().ok_or_else(malformed)?;
            let value = self.value().ok_or_else(malformed)?;
            member(name, value)?;
            if !self.take(b',') {
                break;
            }
        }
        self.take(b'}').then_some(()).ok_or_else(malformed)
    }

    /// Calls `take`, and returns the text that it consumed, without the white space before that text.
    #[inline]
    pub(crate) fn taking<E>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<&'a str, E> {
        self.skip_blanks();
        let begin = self.at;
        take(self)?;
        Ok(self.text.get(begin..self.at).unwrap_or_default())
    }

    /// Whether the rest of the text is only white space.
    pub(crate) fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.text.len()
    }

    /// The next member's name and the colon after it.
    #[inline]
    pub(crate) fn name(&mut self) -> Option<Token<'a>> {
        if !self.take(b'"') {
            return None;
        }
        let name = self.string()?;
        self.take(b':').then_some(name)
    }

    /// The next value.
    #[inline]
    pub(crate) fn value(&mut self) -> Option<Token<'a>> {
        self.skip_blanks();
        match *self.text.as_bytes().get(self.at)? {
            b'"' => {
                self.at += 1;
                self.string()
            }
            b'-' | b'0'..=b'9' => Some(self.number()),
            b't' => self.word("true", Token::Boolean(true)),
            b'f' => self.word("false", Token::Boolean(false)),
            b'n' => self.word("null", Token::Null),
            b'{' | b'[' => self.nested(),
            _ => None,
        }
    }

    /// A string whose opening quote has been taken.
    #[inline]
    fn string(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let offset = find_quote_or_backslash(rest)?;
            let found = self.at + offset;
            if rest.get(offset) == Some(&b'"') {
                self.at = found + 1;
                let raw = self.text.get(start..found)?;
                return Some(if escaped {
                    Token::Escaped(raw)
                } else {
                    Token::Plain(raw)
                });
            }
            escaped = true;
            self.at = found + 2;
        }
    }

    fn number(&mut self) -> Token<'a> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let in_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.bytes().take_while(in_number).count();
        self.at += length;
        Token::Number(rest.get(..length).unwrap_or_default())
    }

    fn word(&mut self, word: &str, token: Token<'a>) -> Option<Token<'a>> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += word.len();
        rest.starts_with(word.as_bytes()).then_some(token)
    }

    /// Skips an object or array. Does not check commas and colons, because callers refuse or ignore the whole value.
    fn nested(&mut self) -> Option<Token<'a>> {
        let mut depth = 0_u32;
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b'"' => {
                    self.at += 1;
                    self.string()?;
                }
                _ => self.at += 1,
            }
            if depth == 0 {
                return Some(Token::Nested);
            }
            if depth > NESTING_MAX {
                return None;
            }
        }
    }
}

/// The position of the first quote or backslash. Examines the first 16 bytes here: most names and short values end
/// within them, and a call of the vector search would cost more than it saves.
#[inline]
fn find_quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // The lowest set bit marks the first zero byte; higher bits may be false positives.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut rest = bytes;
    for passed in [0, 8] {
        let Some((word, more)) = rest.split_first_chunk::<8>() else {
            let in_rest = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            return in_rest.map(|at| at + passed);
        };
        let word = u64::from_le_bytes(*word);
        let quotes = zeros(word ^ (ONES * b'"' as u64));
        let backslashes = zeros(word ^ (ONES * b'\\' as u64));
        let hits = quotes | backslashes;
        if hits != 0 {
            return Some(passed + hits.trailing_zeros() as usize / 8);
        }
        rest = more;
    }
    memchr2(b'"', b'\\', rest).map(|at| at + 16)
}

/// Appends a string's text with its escapes decoded; `None` for an unknown escape and for an unpaired surrogate.
pub(crate) fn unescape(raw: &str, out: &mut String) -> Option<()> {
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(rest.get(..at)?);
        let escape = *rest.as_bytes().get(at + 1)?;
        rest = rest.get(at + 2..)?;
        out.push(match escape {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (unit, after) = hex_unit(rest)?;
                rest = after;
                if (0xD800..0xDC00).contains(&unit) {
                    let (low, after) = hex_unit(rest.strip_prefix("\\u")?)?;
                    rest = after;
                    char::decode_utf16([unit, low]).next()?.ok()?
                } else {
                    char::from_u32(u32::from(unit))?
                }
            }
            _ => return None,
        });
    }
    out.push_str(rest);
    Some(())
}

/// Four hex digits, and the text after them.
fn hex_unit(text: &str) -> Option<(u16, &str)> {
    let digits = text.get(..4)?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    Some((u16::from_str_radix(digits, 16).ok()?, text.get(4..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<Token<'_>> {
        let mut scanner = Scanner::new(text.as_bytes())?;
        let value = scanner.value()?;
        scanner.is_done().then_some(value)
    }

    fn unescaped(raw: &str) -> Option<String> {
        let mut out = String::new();
        unescape(raw, &mut out)?;
        Some(out)
    }

    #[test]
    fn values_are_slices() {
        assert_eq!(value(" \"abc\" "), Some(Token::Plain("abc")));
        assert_eq!(value("\"\""), Some(Token::Plain("")));
        assert_eq!(value(r#""a\"b""#), Some(Token::Escaped(r#"a\"b"#)));
        assert_eq!(value("-1.5e+3"), Some(Token::Number("-1.5e+3")));
        assert_eq!(value("\u{FEFF}true"), Some(Token::Boolean(true)));
        assert_eq!(value("null"), Some(Token::Null));
        assert_eq!(value(r#"{"a":[1,"]"]}"#), Some(Token::Nested));
        for bad in [
            "", "\"", "\"a", "\"a\\\"", "tru", "nul", "[", "{]x", "+1", "'a'", "a",
        ] {
            assert_eq!(value(bad), None, "{bad}");
        }
        let deep = "[".repeat(NESTING_MAX as usize + 1);
        assert_eq!(value(&deep), None);
    }

    #[test]
    fn escapes() {
        let all = r#"\"\\\/\b\f\n\r\té\uD83D\ude00x"#;
        let text = "\"\\/\u{8}\u{C}\n\r\té\u{1F600}x";
        assert_eq!(unescaped(all).as_deref(), Some(text));
        for bad in [
            r"\",
            r"\x",
            r"\u12",
            r"\u12g4",
            r"\ud800",
            r"\ud800\u0041",
            r"\udc00",
            r"\u+123",
        ] {
            assert_eq!(unescaped(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn quotes_are_found(text in "[a\"\\\\é]{0,40}") {
            let expected = text.bytes().position(|byte| byte == b'"' || byte == b'\\');
            prop_assert_eq!(find_quote_or_backslash(text.as_bytes()), expected);
        }

        #[test]
        fn strings_are_read_as_by_serde_json(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            let read = match value(&json) {
                Some(Token::Plain(plain)) => plain.to_owned(),
                Some(Token::Escaped(raw)) => unescaped(raw).unwrap(),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(read, text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:\\\\a0-9u \\-]{0,60}") {
            if let Some(Token::Escaped(raw)) = value(&text) {
                let _ = unescaped(raw);
            }
        }
    }
}
