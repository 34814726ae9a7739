//! Date-times and GUIDs for serde: their text inside a newtype with a reserved name.
//!
//! Formats that ignore newtypes (JSON, CSV, and most others) see strings. A serializer that recognizes the names below
//! keeps the type, so that a Rust structure keeps its types when it is written as an entity and read back.

use crate::{DateTime, Guid};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;

/// The name of the newtype around a date-time's text.
pub const DATE_TIME_NEWTYPE: &str = "$partita::DateTime";
/// The name of the newtype around a GUID's text.
pub const GUID_NEWTYPE: &str = "$partita::Guid";

impl Serialize for DateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(DATE_TIME_NEWTYPE, &*self.text())
    }
}

impl Serialize for Guid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(GUID_NEWTYPE, &*self.text())
    }
}

impl<'de> Deserialize<'de> for DateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text("a date and time in UTC", |text| Self::parse(text).ok());
        deserializer.deserialize_newtype_struct(DATE_TIME_NEWTYPE, text)
    }
}

impl<'de> Deserialize<'de> for Guid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text("a GUID", |text| Self::parse(text).ok());
        deserializer.deserialize_newtype_struct(GUID_NEWTYPE, text)
    }
}

/// Reads a value from its text. Consists of the expected form, for error messages, and the parser.
struct Text<T>(&'static str, fn(&str) -> Option<T>);

impl<'de, T> Visitor<'de> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<T, D::Error> {
        inner.deserialize_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_ignore_newtypes_get_text() {
        let at = DateTime::parse("2024-01-02T03:04:05.0000001Z").unwrap();
        let id = Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap();
        let json = serde_json::to_string(&(at, id)).unwrap();
        assert_eq!(
            json,
            "[\"2024-01-02T03:04:05.0000001Z\",\"c9da6455-213d-42c9-9a79-3e9149a57833\"]"
        );
        let back: (DateTime, Guid) = serde_json::from_str(&json).unwrap();
        assert_eq!(back, (at, id));
        assert!(serde_json::from_str::<DateTime>("\"yesterday\"").is_err());
        assert!(serde_json::from_str::<Guid>("7").is_err());
    }
}
