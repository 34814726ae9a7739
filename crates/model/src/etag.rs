//! ETags: the Timestamp of the last write in a fixed text form. Most clients treat this text as opaque; some build it
//! from a Timestamp.

use crate::DateTime;
use crate::stack_text::StackText;
use std::fmt;
use thiserror::Error;

const BEFORE: &[u8] = b"W/\"datetime'";
const AFTER: &[u8] = b"'\"";

/// The version of an entity: its Timestamp, written `W/"datetime'2021-09-21T01%3A04%3A37.9678478Z'"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ETag(pub DateTime);

/// The text of an ETag, at most 46 bytes: `W/"datetime'` (12 bytes), the time (at most 32), `'"` (2).
pub type ETagText = StackText<48>;

/// Why a text cannot be the ETag of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParseETagError {
    /// Not an ETag: the service answers 400 InvalidInput (recording go--… `GolangRocksOnAzure`).
    #[error("not an ETag")]
    Malformed,
    /// A weak ETag whose text the Table service never writes. It matches no entity: the service answers 412
    /// UpdateConditionNotSatisfied (Azurite issue 1229).
    #[error("not an ETag of the Table service")]
    Foreign,
    /// The inner quotes are doubled, as an old Go client sent them: the service answers 412 ConditionNotMet
    /// (recording gostorage--StorageEntitySuite_TestMerge).
    #[error("an ETag with doubled quotes")]
    DoubledQuotes,
}

impl ETag {
    /// Parses an `If-Match` value. `:` and `%3A` (or `%3a`) are equivalent.
    ///
    /// # Errors
    /// [`ParseETagError`].
    pub fn parse(text: &str) -> Result<Self, ParseETagError> {
        let opaque = text
            .strip_prefix("W/\"")
            .and_then(|rest| rest.strip_suffix('"'))
            .ok_or(ParseETagError::Malformed)?;
        if opaque.starts_with("datetime''") && opaque.ends_with("''") {
            return Err(ParseETagError::DoubledQuotes);
        }
        let time = opaque
            .strip_prefix("datetime'")
            .and_then(|rest| rest.strip_suffix('\''))
            .ok_or(ParseETagError::Foreign)?;
        let parsed = if time.contains('%') {
            DateTime::parse(&time.replace("%3A", ":").replace("%3a", ":"))
        } else {
            DateTime::parse(time)
        };
        parsed.map(Self).map_err(|_| ParseETagError::Foreign)
    }

    /// The text, on the stack.
    pub fn text(self) -> ETagText {
        let time = self.0.text_escaped();
        let time = time.as_bytes();
        let mut bytes = [0; 48];
        let (before, rest) = bytes.split_at_mut(BEFORE.len());
        let (middle, rest) = rest.split_at_mut(time.len());
        before.copy_from_slice(BEFORE);
        middle.copy_from_slice(time);
        rest[..AFTER.len()].copy_from_slice(AFTER);
        ETagText::new(bytes, BEFORE.len() + time.len() + AFTER.len())
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl ETagText {
    /// The part between `W/"` and the last quote.
    #[inline]
    pub fn opaque(&self) -> &[u8] {
        let text = self.as_bytes();
        &text[b"W/\"".len()..text.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_text_matches_the_service() {
        let text = "W/\"datetime'2021-09-21T01%3A04%3A37.9678478Z'\"";
        let etag = ETag::parse(text).unwrap();
        assert_eq!(etag.to_string(), text);
        assert_eq!(etag.text().as_bytes(), text.as_bytes());
        let opaque = "datetime'2021-09-21T01%3A04%3A37.9678478Z'";
        assert_eq!(etag.text().opaque(), opaque.as_bytes());
        assert_eq!(ETag::parse(&text.replace("%3A", ":")), Ok(etag));
        assert_eq!(ETag::parse(&text.replace("%3A", "%3a")), Ok(etag));
    }

    #[test]
    fn invalid_forms_are_distinguished() {
        assert_eq!(
            ETag::parse("GolangRocksOnAzure"),
            Err(ParseETagError::Malformed)
        );
        assert_eq!(ETag::parse(""), Err(ParseETagError::Malformed));
        assert_eq!(ETag::parse("\"x\""), Err(ParseETagError::Malformed));
        assert_eq!(
            ETag::parse("W/\"0x5B168C7B6E589D2\""),
            Err(ParseETagError::Foreign)
        );
        let doubled = "W/\"datetime''2018-04-10T22%3A22%3A22.7128405Z''\"";
        assert_eq!(ETag::parse(doubled), Err(ParseETagError::DoubledQuotes));
    }

    proptest! {
        #[test]
        fn text_round_trips(ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks()) {
            let etag = ETag(DateTime::from_ticks(ticks).unwrap());
            prop_assert_eq!(ETag::parse(&etag.text()), Ok(etag));
        }

        #[test]
        fn parsing_random_text_does_not_panic(text: String) {
            let _ = ETag::parse(&text);
        }
    }
}
