//! Keys as text where their meaning is unknown: bytes in hexadecimal.

use bytes::Bytes;
use serde::Serializer;
use std::fmt;

/// Shows a key as lower-case hexadecimal, two digits a byte.
#[derive(Clone, Copy, Debug)]
pub struct HexKey<'k>(pub &'k [u8]);

impl fmt::Display for HexKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// For `#[serde(serialize_with)]`: a key as text of [`HexKey`].
///
/// # Errors
/// Those of the serializer.
pub fn serialize_hex<S: Serializer>(key: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&HexKey(key))
}
