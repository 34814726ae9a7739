//! Entities: typed maps, and their conversion from and to Rust structs.

mod decode;
mod deserialize;
mod entity_iter;
mod etag;
mod serialize;
#[cfg(test)]
mod tests;

pub(super) use decode::{entities, read_entity};
pub use entity_iter::EntityIter;
pub use etag::ETag;

use partita_model::{DateTime, Value};
use partita_wire::table::PageReader;
use serde::de::DeserializeOwned;
use serde::ser::Serialize;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// The error of an entity that does not match a Rust type, or of bytes that are not an entity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConvertError(pub(crate) String);

impl serde::ser::Error for ConvertError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

impl serde::de::Error for ConvertError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

/// A row of a table: two keys, Timestamp and ETag from the service, and up to 252 properties in the order in which they
/// were inserted.
///
/// Values keep their exact type: an `i32` is an Int32, an `i64` an Int64, an `f64` a Double.
///
/// ```
/// use partita_client::{DateTime, Entity, Guid, Value};
///
/// let mut entity = Entity::new("sensors", "0001");
/// entity
///     .insert("Celsius", 21.5)
///     .insert("Count", 5_000_000_000_i64)
///     .insert("At", DateTime::parse("2024-01-02T03:04:05.0000001Z")?)
///     .insert("Id", Guid([7; 16]))
///     .insert("Raw", vec![1_u8, 2, 3]);
/// assert_eq!(entity.get("Celsius"), Some(&Value::Double(21.5)));
/// assert_eq!(entity.remove("Raw"), Some(Value::Binary(vec![1, 2, 3])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entity {
    pub(crate) partition_key: String,
    pub(crate) row_key: String,
    timestamp: Option<DateTime>,
    pub(crate) etag: Option<ETag>,
    /// Names and values. The entities of a page share the names, which are usually the same.
    properties: Vec<(Arc<str>, Value)>,
}

impl Entity {
    /// An entity without properties.
    #[must_use]
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self {
            partition_key: partition_key.into(),
            row_key: row_key.into(),
            ..Self::default()
        }
    }

    /// An entity from data of another source, such as a file. Nothing is checked: the client sends duplicate
    /// properties, and the service refuses them.
    #[must_use]
    pub fn from_parts(
        (partition_key, row_key): (String, String),
        timestamp: Option<DateTime>,
        properties: Vec<(Arc<str>, Value)>,
    ) -> Self {
        Self {
            partition_key,
            row_key,
            timestamp,
            etag: None,
            properties,
        }
    }

    /// The PartitionKey.
    #[must_use]
    pub fn partition_key(&self) -> &str {
        &self.partition_key
    }

    /// The RowKey.
    #[must_use]
    pub fn row_key(&self) -> &str {
        &self.row_key
    }

    /// The time of the last write, from the service; `None` for an entity that was not read, or was read with a
    /// `select` without Timestamp.
    #[must_use]
    pub fn timestamp(&self) -> Option<DateTime> {
        self.timestamp
    }

    /// The version, from the service; `None` for an entity that was not read.
    #[must_use]
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }

    /// The value of a property. Names are case-sensitive.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        Some(&self.properties[self.position(name)?].1)
    }

    fn position(&self, name: &str) -> Option<usize> {
        let mut names = self.properties.iter().map(|(name, _)| name);
        names.position(|other| **other == *name)
    }

    /// Sets a property; an existing one keeps its position. Name and value are not checked: the service refuses invalid
    /// ones.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl Into<Value>) -> &mut Self {
        let name = name.as_ref();
        match self.position(name) {
            Some(at) => self.properties[at].1 = value.into(),
            None => self.properties.push((name.into(), value.into())),
        }
        self
    }

    /// Sets a property if there is a value, and removes it otherwise: the service has no nulls.
    pub fn insert_opt(
        &mut self,
        name: impl AsRef<str>,
        value: Option<impl Into<Value>>,
    ) -> &mut Self {
        match value {
            Some(value) => self.insert(name, value),
            None => {
                self.remove(name.as_ref());
                self
            }
        }
    }

    /// Removes a property and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.position(name)?;
        Some(self.properties.remove(at).1)
    }

    /// The properties, in their order.
    pub fn iter(&self) -> EntityIter<'_> {
        EntityIter(self.properties.iter())
    }

    /// The number of properties, without keys, Timestamp and ETag.
    #[must_use]
    pub fn len(&self) -> usize {
        self.properties.len()
    }

    /// Whether the entity has no properties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// The properties under other keys, without Timestamp and ETag.
    #[must_use]
    pub fn with_keys(self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self {
            properties: self.properties,
            ..Self::new(partition_key, row_key)
        }
    }

    /// Decodes the entities of a page from its bytes ([`crate::Page::bytes`]), for example in another thread.
    ///
    /// # Errors
    /// [`ConvertError`] if the bytes are not a page in OData JSON.
    pub fn read_page(body: &[u8]) -> Result<Vec<Self>, ConvertError> {
        let entities = PageReader::new(body).and_then(entities);
        entities.map_err(|failure| ConvertError(failure.to_string()))
    }

    /// Decodes one entity from the JSON of the protocol: `"Hits@odata.type":"Edm.Int64","Hits":"7"` annotates a type
    /// that JSON does not have. Missing keys are empty, a null is not a property.
    ///
    /// ```
    /// # use partita_client::{Entity, Value};
    /// let text = r#"{"PartitionKey":"p","RowKey":"r","Hits@odata.type":"Edm.Int64","Hits":"7"}"#;
    /// assert_eq!(Entity::read(text.as_bytes())?.get("Hits"), Some(&Value::Int64(7)));
    /// # Ok::<(), partita_client::ConvertError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConvertError`] if the bytes are not a JSON object, or a value does not match its type.
    pub fn read(body: &[u8]) -> Result<Self, ConvertError> {
        read_entity(body).map_err(|failure| ConvertError(failure.text().to_owned()))
    }

    /// Converts a struct or map to an entity. The fields `PartitionKey` and `RowKey` are its keys, `Timestamp` and
    /// `odata.etag` are optional; all other fields are properties.
    ///
    /// | Rust | property |
    /// | --- | --- |
    /// | `bool` | Boolean |
    /// | `i8` to `i32`, `u8`, `u16` | Int32 |
    /// | `i64`, `u32`; `u64`, `i128` and `u128` that fit | Int64 |
    /// | `f32`, `f64` | Double |
    /// | `String`, `&str`, `char`, variants without data | String |
    /// | [`DateTime`], [`partita_model::Guid`] | DateTime, Guid |
    /// | bytes, by [`serde_bytes`](https://docs.rs/serde_bytes): `#[serde(with = "serde_bytes")]` | Binary |
    /// | `Option` | the value, or no property |
    ///
    /// ```
    /// use partita_client::{Entity, Value};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, Debug, PartialEq)]
    /// #[serde(rename_all = "PascalCase")]
    /// struct Flight {
    ///     partition_key: String,
    ///     row_key: String,
    ///     miles: i32,
    ///     nanos: i64,
    ///     note: Option<String>,
    /// }
    ///
    /// let flight = Flight { partition_key: "KBOS".into(), row_key: "1".into(), miles: 7, nanos: 8, note: None };
    /// let entity = Entity::from_serialize(&flight)?;
    /// assert_eq!(entity.get("Nanos"), Some(&Value::Int64(8)));
    /// assert_eq!(entity.into_typed::<Flight>()?, flight);
    /// # Ok::<(), partita_client::ConvertError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConvertError`] for a nested value or a sequence (also of bytes, without `serde_bytes`), an integer beyond the range of `i64`, or a key that is missing or not a
    /// string.
    pub fn from_serialize(value: &impl Serialize) -> Result<Self, ConvertError> {
        serialize::to_entity(value)
    }

    /// Converts the entity to a struct or map, the reverse of [`Self::from_serialize`]. A DateTime or Guid also
    /// converts to a `String`, an Int32 to an `i64`. A field without property must be an `Option` or have a default.
    ///
    /// # Errors
    /// [`ConvertError`] if a property is missing or does not match the type of its field.
    pub fn into_typed<T: DeserializeOwned>(mut self) -> Result<T, ConvertError> {
        T::deserialize(deserialize::Source::Entity(&mut self))
    }
}
