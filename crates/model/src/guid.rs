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
        let digits = digits(bytes).ok_or(ParseGuidError)?;
        let (mut guid, mut all) = ([0; 16], 0);
        for (slot, pair) in guid.iter_mut().zip(digits.chunks_exact(2)) {
            let (high, low) = (hex_value(pair[0]), hex_value(pair[1]));
            *slot = high << 4 | low & 15;
            all |= high | low;
        }
        // One question for all digits, so that the loop does not branch.
        if all == NO_DIGIT {
            return Err(ParseGuidError);
        }
        Ok(Self(guid))
    }

    /// The lower-case hyphenated text, on the stack.
    #[must_use]
    pub fn text(self) -> GuidText {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&HEX_PAIRS[usize::from(byte)]);
        }
        let mut text = [b'-'; 36];
        text[..8].copy_from_slice(&digits[..8]);
        text[9..13].copy_from_slice(&digits[8..12]);
        text[14..18].copy_from_slice(&digits[12..16]);
        text[19..23].copy_from_slice(&digits[16..20]);
        text[24..].copy_from_slice(&digits[20..]);
        GuidText(text)
    }
}

/// The 32 digits of a text without braces, whatever they are.
fn digits(text: &[u8]) -> Option<[u8; 32]> {
    if let Ok(digits) = text.try_into() {
        return Some(digits);
    }
    let text: &[u8; 36] = text.try_into().ok()?;
    let hyphens = [text[8], text[13], text[18], text[23]];
    let mut digits = [0; 32];
    digits[..8].copy_from_slice(&text[..8]);
    digits[8..12].copy_from_slice(&text[9..13]);
    digits[12..16].copy_from_slice(&text[14..18]);
    digits[16..20].copy_from_slice(&text[19..23]);
    digits[20..].copy_from_slice(&text[24..]);
    (hyphens == [b'-'; 4]).then_some(digits)
}

/// Each byte as two lower-case digits.
const HEX_PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [HEX[byte >> 4], HEX[byte & 15]];
        byte += 1;
    }
    pairs
};

const HEX: &[u8; 16] = b"0123456789abcdef";

const NO_DIGIT: u8 = 0xFF;

/// The value of each byte as a hex digit of either case.
const HEX_VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        let digit = HEX[value];
        values[digit as usize] = value as u8;
        values[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    values
};

const fn hex_value(digit: u8) -> u8 {
    HEX_VALUES[digit as usize]
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

impl GuidText {
    /// The text, for those who copy it: unlike [`str::as_bytes`] it is not looked through first.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

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
            "c9da6455-213d-42c9-9a79-3e9149a5783g",
            "c9da6455-213d-42c9-9a79-3e9149a5783é",
            "{c9da6455-213d-42c9-9a79-3e9149a57833",
            "c9da6455213d42c99a793e9149a5783-",
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
