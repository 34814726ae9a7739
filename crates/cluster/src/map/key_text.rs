//! Keys in stored records: bytes as Base64 text. For `#[serde(with = "key_text")]`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serializer, de};

/// Writes a key.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(key: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_STANDARD.encode(key))
}

/// Reads a key.
///
/// # Errors
/// The text is not Base64.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    let text = String::deserialize(deserializer)?;
    let key = BASE64_STANDARD.decode(text).map_err(de::Error::custom)?;
    Ok(key.into())
}

/// Keys that may be absent. For members that are left out when they are `None`.
pub(crate) mod optional {
    use super::{Bytes, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        key: &Option<Bytes>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match key {
            Some(key) => super::serialize(key, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Bytes>, D::Error> {
        super::deserialize(deserializer).map(Some)
    }
}
