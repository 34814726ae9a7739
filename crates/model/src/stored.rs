//! The stored form of an entity: its Timestamp and its custom properties; PartitionKey and RowKey are in the engine's
//! key.
//!
//! The form is binary and typed, and keeps the order of the properties. Strings that need no JSON escapes are marked,
//! so that writing JSON is nearly a copy. A single property can be read without decoding the others.
//! `docs/format/entity.md` describes the bytes.
//!
//! Invariants:
//! - the first byte is the version; an unknown version is an error;
//! - [`Properties`] obey every limit of `limits` except the size of the whole entity, which depends on the keys;
//!   callers check it with [`Properties::entity_bytes`];
//! - decoding never panics, for any bytes.

use crate::limits::{BINARY_BYTES_MAX, LimitError, PROPERTIES_MAX, STRING_UNITS_MAX};
use crate::{DateTime, ETag, Guid, ValueRef, check_property_name};
use bytes::Bytes;
use thiserror::Error;

const VERSION: u8 = 1;
/// Version byte and Timestamp.
const HEADER_BYTES: usize = 9;

const TAG_STRING: u8 = 1;
const TAG_PLAIN_STRING: u8 = 2;
const TAG_BINARY: u8 = 3;
const TAG_FALSE: u8 = 4;
const TAG_TRUE: u8 = 5;
const TAG_INT32: u8 = 6;
const TAG_INT64: u8 = 7;
const TAG_DOUBLE: u8 = 8;
const TAG_DATETIME: u8 = 9;
const TAG_GUID: u8 = 10;

/// A stored entity that this version cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StoredError {
    /// Written by a later version.
    #[error("stored entity has unknown version {0}")]
    UnknownVersion(u8),
    /// Truncated or damaged bytes.
    #[error("stored entity is malformed")]
    Malformed,
}

/// Whether a string needs no escapes in JSON.
pub fn is_plain(text: &str) -> bool {
    // The loop has no early exit, so that the compiler vectorizes it.
    let mut escapes = 0_u8;
    for byte in text.bytes() {
        escapes |= u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    }
    escapes == 0
}

/// A copy of the stored entity with another Timestamp.
///
/// # Errors
/// [`StoredError`] when `stored` cannot be read.
pub fn restamped(stored: &[u8], timestamp: DateTime) -> Result<Bytes, StoredError> {
    Stored::open(stored)?;
    let mut bytes = stored.to_vec();
    stamp(&mut bytes, timestamp);
    Ok(Bytes::from(bytes))
}

/// Writes the Timestamp into the header.
fn stamp(bytes: &mut [u8], timestamp: DateTime) {
    let ticks = timestamp.ticks().to_le_bytes();
    for (slot, byte) in bytes.iter_mut().skip(1).zip(ticks) {
        *slot = byte;
    }
}

/// The custom properties of an entity, encoded, without a Timestamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// Reserved bytes for the header, and then the encoded properties.
    bytes: Vec<u8>,
    count: usize,
    /// The size of the properties by the service's formula.
    size_bytes: usize,
}

impl Properties {
    /// No properties.
    pub fn empty() -> Self {
        Self::with_capacity(0)
    }

    fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + capacity);
        bytes.push(VERSION);
        bytes.resize(HEADER_BYTES, 0);
        Self {
            bytes,
            count: 0,
            size_bytes: 0,
        }
    }

    /// The number of properties.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The entity's size by the service's formula, in bytes: 4 + 2 × the keys' code units + for each property 8 + 2 ×
    /// its name's code units + its value ([`ValueRef::size_bytes`]). The limit is [`crate::limits::ENTITY_BYTES_MAX`].
    pub fn entity_bytes(&self, partition_key: &str, row_key: &str) -> usize {
        4 + 2 * (crate::utf16_len(partition_key) + crate::utf16_len(row_key)) + self.size_bytes
    }

    /// A view of the properties as a stored entity, for reading them before they are stored.
    pub fn view(&self, timestamp: DateTime) -> Stored<'_> {
        Stored {
            timestamp,
            properties: self.bytes.get(HEADER_BYTES..).unwrap_or_default(),
        }
    }

    /// The bytes for the engine, with the Timestamp, without a copy.
    pub fn into_stored(self, timestamp: DateTime) -> Bytes {
        let mut bytes = self.bytes;
        stamp(&mut bytes, timestamp);
        Bytes::from(bytes)
    }

    /// Merges `patch` into `current`, as MERGE does. Properties of `current` keep their order; new properties follow.
    ///
    /// # Errors
    /// [`StoredError`] when `current` cannot be read; the inner error when the result breaks a limit.
    pub fn merged(
        current: Stored<'_>,
        patch: &Self,
    ) -> Result<Result<Self, LimitError>, StoredError> {
        let patch_view = patch.view(current.timestamp);
        let capacity = current.properties.len() + patch.bytes.len();
        let mut merged = Self::with_capacity(capacity);
        for property in current.iter() {
            let property = property?;
            let value = patch_view.get(property.name)?.unwrap_or(property.value);
            merged.push_known(property.name, value);
        }
        for property in patch_view.iter() {
            let property = property?;
            if current.get(property.name)?.is_none() {
                merged.push_known(property.name, property.value);
            }
        }
        if merged.count > PROPERTIES_MAX {
            return Ok(Err(LimitError::TooManyProperties));
        }
        Ok(Ok(merged))
    }

    /// Appends a property with a checked name and value.
    fn push_known(&mut self, name: &str, value: ValueRef<'_>) {
        self.count += 1;
        self.size_bytes += 8 + 2 * crate::utf16_len(name) + value.size_bytes();
        let tag = match value {
            ValueRef::String(text) if is_plain(text) => TAG_PLAIN_STRING,
            ValueRef::String(_) => TAG_STRING,
            ValueRef::Binary(_) => TAG_BINARY,
            ValueRef::Boolean(false) => TAG_FALSE,
            ValueRef::Boolean(true) => TAG_TRUE,
            ValueRef::Int32(_) => TAG_INT32,
            ValueRef::Int64(_) => TAG_INT64,
            ValueRef::Double(_) => TAG_DOUBLE,
            ValueRef::DateTime(_) => TAG_DATETIME,
            ValueRef::Guid(_) => TAG_GUID,
        };
        self.bytes.push(tag);
        self.push_counted(name.as_bytes());
        match value {
            ValueRef::String(text) => self.push_counted(text.as_bytes()),
            ValueRef::Binary(bytes) => self.push_counted(bytes),
            ValueRef::Boolean(_) => {}
            ValueRef::Int32(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            ValueRef::Int64(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            ValueRef::Double(value) => self.bytes.extend_from_slice(&value.to_le_bytes()),
            ValueRef::DateTime(value) => self.bytes.extend_from_slice(&value.ticks().to_le_bytes()),
            ValueRef::Guid(Guid(bytes)) => self.bytes.extend_from_slice(&bytes),
        }
    }

    /// A length in LEB128, then the bytes.
    fn push_counted(&mut self, bytes: &[u8]) {
        let mut length = bytes.len();
        while length >= 0x80 {
            self.bytes.push((length & 0x7F) as u8 | 0x80);
            length >>= 7;
        }
        self.bytes.push(length as u8);
        self.bytes.extend_from_slice(bytes);
    }
}

/// Collects and checks properties.
#[derive(Debug)]
pub struct PropertiesBuilder {
    properties: Properties,
    /// A set of name hashes as a bit mask of 64 bits. A clear bit shows, without a search, that a name is new.
    seen: u64,
}

impl PropertiesBuilder {
    /// An empty builder with capacity for about `capacity` bytes of properties.
    pub fn new(capacity: usize) -> Self {
        Self {
            properties: Properties::with_capacity(capacity),
            seen: 0,
        }
    }

    /// Adds a property.
    ///
    /// # Errors
    /// [`LimitError`] for an invalid name, a value over its limit, a duplicate name, or too many properties.
    pub fn push(&mut self, name: &str, value: ValueRef<'_>) -> Result<(), LimitError> {
        check_property_name(name)?;
        let too_large = match value {
            ValueRef::String(text) => {
                text.len() > STRING_UNITS_MAX && crate::utf16_len(text) > STRING_UNITS_MAX
            }
            ValueRef::Binary(bytes) => bytes.len() > BINARY_BYTES_MAX,
            _ => false,
        };
        if too_large {
            return Err(LimitError::PropertyValueTooLarge);
        }
        let bit = 1_u64 << (name_hash(name) & 63);
        if self.seen & bit != 0 {
            let known = self.properties.view(DateTime::MIN);
            if matches!(known.get(name), Ok(Some(_))) {
                return Err(LimitError::DuplicateProperty);
            }
        }
        self.seen |= bit;
        if self.properties.count == PROPERTIES_MAX {
            return Err(LimitError::TooManyProperties);
        }
        self.properties.push_known(name, value);
        Ok(())
    }

    /// The collected properties.
    pub fn finish(self) -> Properties {
        self.properties
    }
}

/// FNV-1a: cheap, and spreads short names well enough for a 64-bit set.
fn name_hash(name: &str) -> u32 {
    let hash = name.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash ^ (hash >> 16)
}

/// A stored entity, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    timestamp: DateTime,
    properties: &'a [u8],
}

impl<'a> Stored<'a> {
    /// Reads the header of stored bytes. The properties are checked when they are read.
    ///
    /// # Errors
    /// [`StoredError`] for an unknown version or a malformed header.
    pub fn open(bytes: &'a [u8]) -> Result<Self, StoredError> {
        let (&version, rest) = bytes.split_first().ok_or(StoredError::Malformed)?;
        if version != VERSION {
            return Err(StoredError::UnknownVersion(version));
        }
        let (ticks, properties) = rest
            .split_first_chunk::<8>()
            .ok_or(StoredError::Malformed)?;
        let timestamp =
            DateTime::from_ticks(u64::from_le_bytes(*ticks)).ok_or(StoredError::Malformed)?;
        Ok(Self {
            timestamp,
            properties,
        })
    }

    /// The time of the last write.
    pub const fn timestamp(&self) -> DateTime {
        self.timestamp
    }

    /// Its ETag.
    pub const fn etag(&self) -> ETag {
        ETag(self.timestamp)
    }

    /// The custom properties, in their original order.
    pub const fn iter(&self) -> PropertyIter<'a> {
        PropertyIter {
            rest: self.properties,
        }
    }

    /// One property, if the entity has it. Names are case-sensitive.
    ///
    /// # Errors
    /// [`StoredError::Malformed`] if this property or an earlier one cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<ValueRef<'a>>, StoredError> {
        for property in self.iter() {
            let property = property?;
            if property.name == name {
                return Ok(Some(property.value));
            }
        }
        Ok(None)
    }
}

/// One property, borrowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PropertyRef<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value.
    pub value: ValueRef<'a>,
    /// Whether the value is a string that needs no escapes in JSON.
    pub plain: bool,
}

/// Iterates over the properties of a stored entity; ends after an error.
#[derive(Debug, Clone)]
pub struct PropertyIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for PropertyIter<'a> {
    type Item = Result<PropertyRef<'a>, StoredError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let property = self.read().ok_or(StoredError::Malformed);
        if property.is_err() {
            self.rest = &[];
        }
        Some(property)
    }
}

impl<'a> PropertyIter<'a> {
    fn read(&mut self) -> Option<PropertyRef<'a>> {
        let (&tag, rest) = self.rest.split_first()?;
        self.rest = rest;
        let name = self.text()?;
        let value = match tag {
            TAG_STRING | TAG_PLAIN_STRING => ValueRef::String(self.text()?),
            TAG_BINARY => ValueRef::Binary(self.counted()?),
            TAG_FALSE => ValueRef::Boolean(false),
            TAG_TRUE => ValueRef::Boolean(true),
            TAG_INT32 => ValueRef::Int32(i32::from_le_bytes(*self.chunk()?)),
            TAG_INT64 => ValueRef::Int64(i64::from_le_bytes(*self.chunk()?)),
            TAG_DOUBLE => ValueRef::Double(f64::from_le_bytes(*self.chunk()?)),
            TAG_DATETIME => {
                ValueRef::DateTime(DateTime::from_ticks(u64::from_le_bytes(*self.chunk()?))?)
            }
            TAG_GUID => ValueRef::Guid(Guid(*self.chunk()?)),
            _ => return None,
        };
        Some(PropertyRef {
            name,
            value,
            plain: tag == TAG_PLAIN_STRING,
        })
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.counted()?).ok()
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let (mut length, mut shift) = (0_usize, 0_u32);
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            length |= usize::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
            if shift > 21 {
                return None;
            }
        }
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (chunk, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<String>().prop_map(Value::String),
            any::<Vec<u8>>().prop_map(Value::Binary),
            any::<bool>().prop_map(Value::Boolean),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            any::<f64>().prop_map(Value::Double),
            (DateTime::MIN.ticks()..=DateTime::MAX.ticks())
                .prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks).unwrap())),
            any::<[u8; 16]>().prop_map(|bytes| Value::Guid(Guid(bytes))),
        ]
    }

    type Model = Vec<(String, Value)>;

    fn model() -> impl Strategy<Value = Model> {
        proptest::collection::btree_map("[a-cA-C_][a-c0-9]{0,2}", value(), 0..12)
            .prop_map(|map| map.into_iter().collect::<Model>())
            .prop_shuffle()
    }

    fn encode(model: &Model) -> Properties {
        let mut builder = PropertiesBuilder::new(64);
        for (name, value) in model {
            builder.push(name, value.as_ref()).unwrap();
        }
        builder.finish()
    }

    fn decode(stored: Stored<'_>) -> Model {
        let owned =
            |property: PropertyRef<'_>| (property.name.to_owned(), property.value.to_value());
        stored
            .iter()
            .map(|property| owned(property.unwrap()))
            .collect()
    }

    #[test]
    fn limits_are_enforced() {
        let mut builder = PropertiesBuilder::new(0);
        for at in 0..PROPERTIES_MAX {
            builder.push(&format!("p{at}"), ValueRef::Int32(0)).unwrap();
        }
        assert_eq!(
            builder.push("p7", ValueRef::Int32(0)),
            Err(LimitError::DuplicateProperty)
        );
        assert_eq!(
            builder.push("more", ValueRef::Int32(0)),
            Err(LimitError::TooManyProperties)
        );
        let mut builder = PropertiesBuilder::new(0);
        let text = "é".repeat(STRING_UNITS_MAX);
        assert_eq!(builder.push("s", ValueRef::String(&text)), Ok(()));
        let text = "x".repeat(STRING_UNITS_MAX + 1);
        assert_eq!(
            builder.push("t", ValueRef::String(&text)),
            Err(LimitError::PropertyValueTooLarge)
        );
        let bytes = vec![0; BINARY_BYTES_MAX + 1];
        assert_eq!(
            builder.push("b", ValueRef::Binary(&bytes)),
            Err(LimitError::PropertyValueTooLarge)
        );
    }

    #[test]
    fn size_follows_the_formula_of_the_service() {
        let model = vec![
            ("ab".to_owned(), Value::String("é".into())),
            ("c".to_owned(), Value::Int64(1)),
        ];
        // 4 + 2×(1+2) + (8 + 2×2 + 4 + 2×1) + (8 + 2×1 + 8)
        assert_eq!(encode(&model).entity_bytes("p", "rr"), 4 + 6 + 18 + 18);
    }

    #[test]
    fn an_unknown_version_is_refused() {
        let mut bytes = Properties::empty()
            .into_stored(DateTime::UNIX_EPOCH)
            .to_vec();
        bytes[0] = 2;
        assert_eq!(
            Stored::open(&bytes).unwrap_err(),
            StoredError::UnknownVersion(2)
        );
    }

    #[test]
    fn bytes_match_the_format_document() {
        let model = vec![
            ("S".to_owned(), Value::String("a\"".into())),
            ("P".to_owned(), Value::String("a".into())),
            ("N".to_owned(), Value::Int32(5)),
            ("T".to_owned(), Value::Boolean(true)),
        ];
        let bytes = encode(&model).into_stored(DateTime::UNIX_EPOCH);
        let mut expected = vec![1];
        expected.extend_from_slice(&621_355_968_000_000_000_u64.to_le_bytes());
        expected.extend_from_slice(&[1, 1, b'S', 2, b'a', b'"', 2, 1, b'P', 1, b'a']);
        expected.extend_from_slice(&[6, 1, b'N', 5, 0, 0, 0, 5, 1, b'T']);
        assert_eq!(bytes.to_vec(), expected);
    }

    proptest! {
        #[test]
        fn entities_round_trip(model in model()) {
            let bytes = encode(&model).into_stored(DateTime::UNIX_EPOCH);
            let stored = Stored::open(&bytes).unwrap();
            prop_assert_eq!(stored.timestamp(), DateTime::UNIX_EPOCH);
            // Compares debug text, because NaN is not equal to itself.
            prop_assert_eq!(format!("{:?}", decode(stored)), format!("{model:?}"));
            for property in stored.iter().flatten() {
                if let ValueRef::String(text) = property.value {
                    prop_assert_eq!(property.plain, is_plain(text));
                }
            }
        }

        #[test]
        fn merge_sets_new_properties_and_keeps_the_others(current in model(), patch in model()) {
            let bytes = encode(&current).into_stored(DateTime::UNIX_EPOCH);
            let merged = Properties::merged(Stored::open(&bytes).unwrap(), &encode(&patch)).unwrap().unwrap();
            let mut expected = current.clone();
            for (name, value) in &patch {
                match expected.iter_mut().find(|(old, _)| old == name) {
                    Some((_, old)) => *old = value.clone(),
                    None => expected.push((name.clone(), value.clone())),
                }
            }
            let merged_back = decode(merged.view(DateTime::UNIX_EPOCH));
            prop_assert_eq!(format!("{merged_back:?}"), format!("{expected:?}"));
            prop_assert_eq!(merged, encode(&expected));
        }

        #[test]
        fn decoding_random_bytes_does_not_panic(tail: Vec<u8>) {
            let mut bytes = Properties::empty().into_stored(DateTime::UNIX_EPOCH).to_vec();
            bytes.extend_from_slice(&tail);
            for property in Stored::open(&bytes).unwrap().iter() {
                let _ = property;
            }
        }
    }
}
