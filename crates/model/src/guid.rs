//! GUID values: sixteen bytes in the order of their text.
//!
//! The `uuid` crate parses and formats the digits. This type defines the accepted text forms and the order of GUIDs.

use crate::stack_text::StackText;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use uuid::Uuid;

/// A GUID; the bytes are in the order of the hex digits of its text.
///
/// The order is that of .NET's `Guid.CompareTo`: the first three groups as numbers, then the other bytes. Because the
/// bytes are in text order, this equals the byte order. (The order of the live service is unconfirmed:
/// `docs/compat.md`.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub [u8; 16]);

/// The text of a GUID.
pub type GuidText = StackText<36>;

/// The text is not a GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a GUID")]
pub struct ParseGuidError;

impl Guid {
    /// Parses 32 hexadecimal digits, with or without all four hyphens, with or without braces.
    ///
    /// # Errors
    /// [`ParseGuidError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, ParseGuidError> {
        let digits = match text.as_bytes() {
            [b'{', inner @ .., b'}'] => inner,
            other => other,
        };
        // At other lengths `uuid` accepts more forms, such as URNs and a second pair of braces.
        if !matches!(digits.len(), 32 | 36) {
            return Err(ParseGuidError);
        }
        let uuid = Uuid::try_parse_ascii(digits).map_err(|_| ParseGuidError)?;
        Ok(Self(uuid.into_bytes()))
    }

    /// The lower-case hyphenated text, on the stack.
    pub fn text(self) -> GuidText {
        let mut text = [0; 36];
        Uuid::from_bytes(self.0)
            .hyphenated()
            .encode_lower(&mut text);
        GuidText::new(text, 36)
    }
}

impl FromStr for Guid {
    type Err = ParseGuidError;

    /// As [`Guid::parse`].
    fn from_str(text: &str) -> Result<Self, ParseGuidError> {
        Self::parse(text)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
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
        for form in [text, &text.to_uppercase(), &text.replace('-', "")] {
            assert_eq!(Guid::parse(form), Ok(guid), "{form}");
            let braced = format!("{{{form}}}");
            assert_eq!(Guid::parse(&braced), Ok(guid), "{braced}");
        }
        assert_eq!(guid.to_string(), text);
        assert_eq!(text.parse(), Ok(guid));
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
        fn parsing_random_text_does_not_panic(text in ".{0,40}") {
            let _ = Guid::parse(&text);
        }
    }
}
