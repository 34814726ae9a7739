//! Splits a filter's text into tokens.
//!
//! Tokens are slices; [`super::literal`] reads the values of literals. Positions are byte offsets. As in the service,
//! the position in the text of a syntax error is the end of the wrong token ("Syntax error at position 7 in 'aaa bbb
//! ccc'.").

use super::hint;
use super::token::{Kind, Token};
use crate::{ErrorCode, Failure, Hint};
use partita_model::EdmType;
use unicode_ident::{is_xid_continue, is_xid_start};

/// A position in a filter's text.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The text after `token`.
    pub(super) fn after(&self, token: &Token<'_>) -> &'a str {
        self.text.get(token.end()..).unwrap_or_default()
    }

    /// The words from `token` on that were probably meant as one text.
    pub(super) fn unquoted_text(&self, token: &Token<'_>) -> &'a str {
        hint::unquoted_text(self.text, token.start)
    }

    /// A hint for this part of the filter.
    pub(super) fn hint(&self, start: usize, end: usize, text: String) -> Hint {
        Hint::new(self.text, start, end, text)
    }

    /// The failure for a part of OData that the service does not implement.
    pub(super) fn not_implemented(&self, token: &Token<'_>, hint: String) -> Failure {
        let hint = self.hint(token.start, token.end(), hint);
        Failure::new(ErrorCode::NotImplemented).hint(hint)
    }

    /// The failure for a text that is not a filter; its position is the end of `token`.
    pub(super) fn syntax_error(&self, token: &Token<'_>, hint: String) -> Failure {
        let message = format!(
            "Syntax error at position {} in '{}'.",
            token.end(),
            self.text
        );
        let hint = self.hint(token.start, token.end(), hint);
        Failure::with_message(ErrorCode::InvalidInput, message).hint(hint)
    }

    /// The failure for a literal that is not valid for its type.
    pub(super) fn unrecognized(&self, edm: EdmType, token: &Token<'_>) -> Failure {
        let Token { text, start, .. } = token;
        let message = format!(
            "Unrecognized '{}' literal '{text}' at '{start}' in '{}'.",
            edm.name(),
            self.text
        );
        let hint = self.hint(token.start, token.end(), hint::literal(edm, text));
        Failure::with_message(ErrorCode::InvalidInput, message).hint(hint)
    }

    /// The next token; [`Kind::End`] at the end of the text, also on further calls.
    ///
    /// # Errors
    /// 400 InvalidInput for an unclosed quote, and for a character that cannot be part of a token.
    pub(super) fn next(&mut self) -> Result<Token<'a>, Failure> {
        let blanks = self.rest().len() - self.rest().trim_ascii_start().len();
        self.at += blanks;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(self.token(Kind::End, 0));
        };
        let second = rest.as_bytes().get(1);
        match first {
            '(' => Ok(self.token(Kind::Open, 1)),
            ')' => Ok(self.token(Kind::Close, 1)),
            '\'' => self.quoted(0),
            '0'..='9' => self.number(0),
            '-' if second.is_some_and(u8::is_ascii_digit) => self.number(1),
            '-' => Ok(self.minus_word()),
            ',' | '/' | ':' | '*' | '=' | '$' => Ok(self.token(Kind::Sign, 1)),
            first if first == '_' || is_xid_start(first) => {
                let length = word_length(rest);
                if rest.as_bytes().get(length) == Some(&b'\'') {
                    self.quoted(length)
                } else {
                    Ok(self.token(Kind::Word, length))
                }
            }
            other => {
                let token = self.token(Kind::Sign, other.len_utf8());
                Err(self.syntax_error(&token, hint::foreign_sign(rest)))
            }
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn token(&mut self, kind: Kind, length: usize) -> Token<'a> {
        let start = self.at;
        self.at += length;
        let text = self.text.get(start..self.at).unwrap_or_default();
        Token { kind, text, start }
    }

    /// A quoted literal after a word of `prefix` bytes. Two quotes in the literal stand for one.
    fn quoted(&mut self, prefix: usize) -> Result<Token<'a>, Failure> {
        let rest = self.rest();
        let mut length = prefix + 1;
        loop {
            let more = rest.get(length..).unwrap_or_default();
            let Some(quote) = memchr::memchr(b'\'', more.as_bytes()) else {
                let message = format!(
                    "There is an unterminated string literal at position {} in '{}'.",
                    self.text.len(),
                    self.text
                );
                let hint = self.hint(self.at, self.text.len(), hint::unclosed());
                return Err(Failure::with_message(ErrorCode::InvalidInput, message).hint(hint));
            };
            length += quote + 1;
            if rest.as_bytes().get(length) != Some(&b'\'') {
                return Ok(self.token(Kind::Quoted, length));
            }
            length += 1;
        }
    }

    /// A number after a sign of `sign` bytes: digits, fraction, exponent, then any letters. Only a suffix of one letter
    /// is valid.
    fn number(&mut self, sign: usize) -> Result<Token<'a>, Failure> {
        let rest = self.rest().as_bytes();
        let digits_from = |from: usize| {
            let digits = rest.iter().skip(from);
            from + digits.take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut length = digits_from(sign);
        if rest.get(length) == Some(&b'.') {
            length = digits_from(length + 1);
        }
        if let Some(b'e' | b'E') = rest.get(length) {
            let signed = matches!(rest.get(length + 1), Some(b'+' | b'-'));
            length = digits_from(length + 1 + usize::from(signed));
        }
        let suffix = self.rest().get(length..).map_or(0, word_length);
        Ok(self.token(Kind::Number, length + suffix))
    }

    /// `-INF` and its variants, which are numbers; or a single minus.
    fn minus_word(&mut self) -> Token<'a> {
        let length = 1 + self.rest().get(1..).map_or(0, word_length);
        match self.rest().get(..length) {
            Some("-INF" | "-Infinity" | "-inf") => self.token(Kind::Number, length),
            _ => self.token(Kind::Sign, 1),
        }
    }
}

/// The length in bytes of the word that a text begins with.
fn word_length(text: &str) -> usize {
    let continues = |c: &char| *c == '_' || is_xid_continue(*c);
    text.chars().take_while(continues).map(char::len_utf8).sum()
}
