//! GUID values: sixteen bytes in the order of their text.

use std::cmp::Ordering;
use std::fmt;
use thiserror::Error;

/// A GUID; the bytes are in the order of the hex digits of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guid(pub [u8; 16]);

/// The text is no GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a GUID")]
pub struct ParseGuidError;

impl Guid {
    /// Reads the hyphenated form in either case, with or without braces; also 32 bare digits.
    ///
    /// # Errors
    /// [`ParseGuidError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, ParseGuidError> {
        let bytes = text.as_bytes();
        let bytes = match bytes {
            [b'{', inner @ .., b'}'] => inner,
            other => other,
        };
        let hyphens_at: &[usize] = match bytes.len() {
            36 => &[8, 13, 18, 23],
            32 => &[],
            _ => return Err(ParseGuidError),
        };
        let (mut guid, mut digits) = ([0_u8; 16], 0_usize);
        for (at, &byte) in bytes.iter().enumerate() {
            if hyphens_at.contains(&at) {
                if byte != b'-' {
                    return Err(ParseGuidError);
                }
                continue;
            }
            let digit = char::from(byte).to_digit(16).ok_or(ParseGuidError)? as u8;
            let slot = guid.get_mut(digits / 2).ok_or(ParseGuidError)?;
            *slot = *slot << 4 | digit;
            digits += 1;
        }
        Ok(Self(guid))
    }

    /// The lower-case hyphenated text, on the stack.
    #[must_use]
    pub fn text(self) -> GuidText {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        let mut at = 0;
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                at += 1;
            }
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 15)];
            at += 2;
        }
        GuidText(text)
    }
}

impl Ord for Guid {
    /// The order of .NET's `Guid.CompareTo`: the first three groups as numbers, then the other bytes. With the bytes in
    /// text order, the groups as big-endian numbers, that is the order of the bytes. (Whether the live service orders
    /// GUIDs so is unconfirmed: `docs/compat.md`.)
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Guid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// A GUID's text, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct GuidText([u8; 36]);

impl std::ops::Deref for GuidText {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hex digits and hyphens are ASCII")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms() {
        let text = "c9da6455-213d-42c9-9a79-3e9149a57833";
        let guid = Guid::parse(text).unwrap();
        assert_eq!(guid.to_string(), text);
        assert_eq!(Guid::parse(&text.to_uppercase()), Ok(guid));
        assert_eq!(Guid::parse(&format!("{{{text}}}")), Ok(guid));
        assert_eq!(Guid::parse(&text.replace('-', "")), Ok(guid));
        for bad in [
            "",
            "c9da6455",
            "g9da6455-213d-42c9-9a79-3e9149a57833",
            "c9da6455x213d-42c9-9a79-3e9149a57833",
        ] {
            assert_eq!(Guid::parse(bad), Err(ParseGuidError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(bytes: [u8; 16]) {
            prop_assert_eq!(Guid::parse(&Guid(bytes).text()), Ok(Guid(bytes)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = Guid::parse(&text);
        }
    }
}
