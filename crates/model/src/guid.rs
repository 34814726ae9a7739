//! GUID values: sixteen bytes in the order of their text.
//!
//! Digits are read and written by the `uuid` crate; this type fixes which texts are a GUID of the Table service, and their
//! order.

use std::cmp::Ordering;
use std::fmt;
use thiserror::Error;
use uuid::Uuid;

/// A GUID; the bytes are in the order of the hex digits of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guid(pub [u8; 16]);

/// The text is not a GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a GUID")]
pub struct ParseGuidError;

impl Guid {
    /// Reads 32 digits in either case, with all four hyphens or none, with or without braces.
    ///
    /// # Errors
    /// [`ParseGuidError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, ParseGuidError> {
        let digits = match text.as_bytes() {
            [b'{', inner @ .., b'}'] => inner,
            other => other,
        };
        // In other lengths `uuid` would accept more, such as URNs and a second pair of braces.
        if !matches!(digits.len(), 32 | 36) {
            return Err(ParseGuidError);
        }
        let uuid = Uuid::try_parse_ascii(digits).map_err(|_| ParseGuidError)?;
        Ok(Self(uuid.into_bytes()))
    }

    /// The lower-case hyphenated text, on the stack.
    #[must_use]
    pub fn text(self) -> GuidText {
        let mut text = [0; 36];
        Uuid::from_bytes(self.0)
            .hyphenated()
            .encode_lower(&mut text);
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

impl GuidText {
    /// The text as bytes. Unlike [`str::as_bytes`] after a deref, this does not validate UTF-8 first.
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
    fn accepted_and_refused_forms() {
        let text = "c9da6455-213d-42c9-9a79-3e9149a57833";
        let guid = Guid::parse(text).unwrap();
        assert_eq!(guid.to_string(), text);
        assert_eq!(Guid::parse(&text.to_uppercase()), Ok(guid));
        assert_eq!(Guid::parse(&format!("{{{text}}}")), Ok(guid));
        assert_eq!(Guid::parse(&text.replace('-', "")), Ok(guid));
        assert_eq!(
            Guid::parse(&format!("{{{}}}", text.replace('-', ""))),
            Ok(guid)
        );
        for bad in [
            "",
            "c9da6455",
            "g9da6455-213d-42c9-9a79-3e9149a57833",
            "c9da6455x213d-42c9-9a79-3e9149a57833",
            "c9da6455-213d-42c9-9a79-3e9149a5783g",
            "c9da6455-213d-42c9-9a79-3e9149a5783é",
            "{c9da6455-213d-42c9-9a79-3e9149a57833",
            "c9da6455213d42c99a793e9149a5783-",
            "urn:uuid:c9da6455-213d-42c9-9a79-3e9149a57833",
            "{{c9da6455-213d-42c9-9a79-3e9149a57833}}",
            "{c9da6455-213d42c9-9a79-3e9149a57833}",
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
