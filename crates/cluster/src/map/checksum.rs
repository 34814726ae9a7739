//! Stored records with a checksum: JSON text whose last member is the CRC-32 of all bytes before it.
//!
//! ```text
//! {
//!   "format": 2,
//!   …,
//!   "checksum": "1c291ca3"
//! }
//! ```

use serde::de::{self, DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The format of records that this version writes.
pub const FORMAT: u32 = 2;

/// The format without a checksum. This version can read it.
pub const FORMAT_WITHOUT_CHECKSUM: u32 = 1;

/// The last bytes of a record's JSON text before the checksum is added.
const END: &[u8] = b"\n}";

/// The CRC-32 of a record's text, without the checksum itself. In JSON: eight lowercase hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum(u32);

impl Checksum {
    /// The checksum of a record.
    pub(crate) fn of(record: &impl Serialize) -> Self {
        Self(crc32fast::hash(&body(record)))
    }

    /// The last bytes of a record with this checksum.
    fn tail(self) -> Vec<u8> {
        format!(",\n  \"checksum\": \"{self}\"\n}}").into_bytes()
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u32::from_str_radix(&text, 16).map_err(de::Error::custom)?;
        Ok(Self(number))
    }
}

/// The text of a record without its end and its checksum.
fn body(record: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(record)
        .expect("the members of a record are numbers, texts and lists");
    text.truncate(text.len().saturating_sub(END.len()));
    text
}

/// The text of a record, with its checksum.
#[must_use]
pub fn encode(record: &impl Serialize) -> Vec<u8> {
    let mut text = body(record);
    let checksum = Checksum(crc32fast::hash(&text));
    text.extend(checksum.tail());
    text
}

/// Reads a record in either format.
///
/// # Errors
/// The text was changed or truncated, or it is not a record in a format that this version can read.
pub fn decode<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    /// The members that tell the formats apart.
    #[derive(Deserialize)]
    struct Head {
        format: u32,
        checksum: Option<IgnoredAny>,
    }
    let head: Head = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    match head {
        Head {
            format: FORMAT_WITHOUT_CHECKSUM,
            checksum: None,
        } => serde_json::from_slice(text).map_err(|error| error.to_string()),
        Head { format: FORMAT, .. } => decode_checked(text),
        _ => Err("unknown format".to_owned()),
    }
}

/// Reads a record that [`encode`] wrote.
///
/// # Errors
/// The text was changed or truncated, or it is not such a record.
pub(super) fn decode_checked<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let tail_bytes = Checksum(0).tail().len();
    let body = text.len().checked_sub(tail_bytes);
    let (body, tail) = body
        .and_then(|at| text.split_at_checked(at))
        .ok_or("the file is too short")?;
    if tail != Checksum(crc32fast::hash(body)).tail() {
        return Err("the checksum does not match: the file was changed or truncated".to_owned());
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
