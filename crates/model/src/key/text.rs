//! Text fields: an encoding whose bytes sort as UTF-16 code units and never contain the terminator.

use super::KeyError;
use crate::utf16::{lift, lower};
use std::borrow::Cow;

/// Ends a text field.
pub(super) const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;

/// Appends a text without its terminator.
pub(super) fn push_text(bytes: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte > ESCAPE && byte < 0xEE;
    if text.bytes().all(plain) {
        bytes.extend_from_slice(text.as_bytes());
        return;
    }
    for byte in text.bytes() {
        match byte {
            0x00 | 0x01 => bytes.extend_from_slice(&[ESCAPE, byte + 1]),
            other => bytes.push(lift(other)),
        }
    }
}

/// The text of a field without its terminator.
pub(super) fn read_text(field: &[u8]) -> Result<Cow<'_, str>, KeyError> {
    let plain = |byte: &u8| *byte > ESCAPE && *byte < 0xEE;
    if field.iter().all(plain) {
        return std::str::from_utf8(field)
            .map(Cow::Borrowed)
            .map_err(|_| KeyError);
    }
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            END => return Err(KeyError),
            ESCAPE => match bytes.next() {
                Some(&escaped @ 1..=2) => text.push(escaped - 1),
                _ => return Err(KeyError),
            },
            0xEE | 0xEF => return Err(KeyError),
            other => text.push(lower(other)),
        }
    }
    String::from_utf8(text)
        .map(Cow::Owned)
        .map_err(|_| KeyError)
}

/// The length of the first text field, including its terminator; `None` without a terminator.
pub(super) fn text_len(bytes: &[u8]) -> Option<usize> {
    Some(bytes.iter().position(|&byte| byte == END)? + 1)
}
