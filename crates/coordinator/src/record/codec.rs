//! The JSON of records.

use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Life, LogNumber};

/// The format version that this binary writes and reads.
const FORMAT: u32 = 1;

impl Serialize for Life {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As text, because not every reader of JSON has integers of 64 bits.
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Life {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a life of 16 hexadecimal digits"))
    }
}

impl Serialize for LogNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LogNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| D::Error::custom("not the number of a log, of 16 hexadecimal digits"))
    }
}

/// A value that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
    /// It has another format.
    #[error("key {key} has format {found}, but this version of partita reads format {FORMAT}")]
    UnknownFormat {
        /// The key.
        key: String,
        /// The format that was found.
        found: u32,
    },
    /// It is not valid.
    #[error("key {key} has an invalid value: {why}")]
    Invalid {
        /// The key.
        key: String,
        /// What is wrong with it.
        why: String,
    },
}

#[derive(Serialize)]
struct Formatted<'a, T> {
    format: u32,
    #[serde(flatten)]
    record: &'a T,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// The bytes of a value.
pub(crate) fn encode<T: Serialize>(record: &T) -> Bytes {
    let formatted = Formatted {
        format: FORMAT,
        record,
    };
    serde_json::to_vec(&formatted)
        .expect("a record has only text keys")
        .into()
}

/// Reads a value. Unknown members are ignored, so that a later version can add some within the format.
pub(crate) fn decode<T: DeserializeOwned>(key: &str, value: &[u8]) -> Result<T, RecordError> {
    let invalid = |error: serde_json::Error| RecordError::Invalid {
        key: key.to_owned(),
        why: error.to_string(),
    };
    let Format { format } = serde_json::from_slice(value).map_err(invalid)?;
    if format != FORMAT {
        return Err(RecordError::UnknownFormat {
            key: key.to_owned(),
            found: format,
        });
    }
    serde_json::from_slice(value).map_err(invalid)
}

/// Keys as Base64.
pub(super) mod key_bytes {
    use base64::Engine as _;
    use serde::de::Error as _;

    use super::{BASE64, Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(key))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        BASE64.decode(text).map_err(D::Error::custom)
    }
}

/// An optional key as Base64.
pub(super) mod end_bytes {
    use base64::Engine as _;
    use serde::de::Error as _;

    use super::{BASE64, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        key: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        key.as_ref()
            .map(|key| BASE64.encode(key))
            .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| BASE64.decode(text).map_err(D::Error::custom))
            .transpose()
    }
}
