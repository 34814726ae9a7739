//! Entities as typed maps, and their way from and to Rust structures.

mod decode;
mod deserialize;
mod etag;
mod serialize;
#[cfg(test)]
mod tests;

pub(crate) use decode::{EntityDecoder, entities};
pub use etag::ETag;
pub use serialize::ConvertError;

use partita_model::{DateTime, Value};
use partita_wire::table::read_row;
use serde::de::DeserializeOwned;
use serde::ser::Serialize;
use std::sync::Arc;

/// A row: two keys, what the service keeps of it, and up to 252 properties of its own, in the order in which they were put in.
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
    /// The names of a page's entities are shared by its rows.
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

    /// An entity of what somebody read elsewhere: a file, another store. Nothing is looked at: of two properties of one name both
    /// are sent, and the service refuses them.
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

    /// Its PartitionKey.
    #[must_use]
    pub fn partition_key(&self) -> &str {
        &self.partition_key
    }

    /// Its RowKey.
    #[must_use]
    pub fn row_key(&self) -> &str {
        &self.row_key
    }

    /// When it was last written, as the service said; `None` for one that was not read.
    #[must_use]
    pub fn timestamp(&self) -> Option<DateTime> {
        self.timestamp
    }

    /// Its version, as the service said; `None` for one that was not read.
    #[must_use]
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }

    /// A property. Names are case-sensitive.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut properties = self.properties.iter();
        properties
            .find(|(other, _)| **other == *name)
            .map(|(_, value)| value)
    }

    /// Sets a property; one that is there keeps its place. Whether the service takes name and value is left to it.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl Into<Value>) -> &mut Self {
        let name = name.as_ref();
        let value = value.into();
        match self
            .properties
            .iter_mut()
            .find(|(other, _)| **other == *name)
        {
            Some((_, old)) => *old = value,
            None => self.properties.push((name.into(), value)),
        }
        self
    }

    /// Takes a property away.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self
            .properties
            .iter()
            .position(|(other, _)| **other == *name)?;
        Some(self.properties.remove(at).1)
    }

    /// The properties in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.properties.iter().map(|(name, value)| (&**name, value))
    }

    /// How many properties there are, keys and Timestamp not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.properties.len()
    }

    /// Whether there is no property.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// Gives the entity other keys, as one that was never stored.
    #[must_use]
    pub fn with_keys(self, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self {
            properties: self.properties,
            ..Self::new(partition_key, row_key)
        }
    }

    /// Reads the entities of a page from its bytes ([`crate::Page::bytes`]), for whoever decodes elsewhere than where it asked.
    ///
    /// # Errors
    /// [`ConvertError`] where the bytes are no page of OData JSON.
    pub fn read_page(body: &[u8]) -> Result<Vec<Self>, ConvertError> {
        entities(body).map_err(|failure| ConvertError(failure.to_string()))
    }

    /// Reads one entity from JSON as the protocol has it: types that JSON does not show are annotated
    /// (`"Hits@odata.type":"Edm.Int64","Hits":"7"`), `odata.etag` and `Timestamp` are what the service keeps, a null is no
    /// property. Keys that are not there are empty.
    ///
    /// ```
    /// # use partita_client::{Entity, Value};
    /// let text = r#"{"PartitionKey":"p","RowKey":"r","Hits@odata.type":"Edm.Int64","Hits":"7"}"#;
    /// assert_eq!(Entity::read(text.as_bytes())?.get("Hits"), Some(&Value::Int64(7)));
    /// # Ok::<(), partita_client::ConvertError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConvertError`] where the bytes are no JSON object, or a value does not fit its type.
    pub fn read(body: &[u8]) -> Result<Self, ConvertError> {
        let read = read_row(body, |row| EntityDecoder::default().entity(row));
        read.map_err(|failure| ConvertError(failure.text().to_owned()))
    }

    /// Makes an entity of a structure or map. Its fields `PartitionKey` and `RowKey` are the keys; `Timestamp` and
    /// `odata.etag`, if it has them, are what the service keeps; all others are properties.
    ///
    /// | Rust | property |
    /// | --- | --- |
    /// | `bool` | Boolean |
    /// | `i8` to `i32`, `u8`, `u16` | Int32 |
    /// | `i64`, `u32`; `u64`, `i128` and `u128` that fit | Int64 |
    /// | `f32`, `f64` | Double |
    /// | `String`, `&str`, `char`, variants without data | String |
    /// | [`DateTime`], [`partita_model::Guid`] | DateTime, Guid |
    /// | bytes, `Vec<u8>` | Binary |
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
    /// [`ConvertError`] for what a flat entity cannot hold, and where a key is missing or no text.
    pub fn from_serialize(value: &impl Serialize) -> Result<Self, ConvertError> {
        value.serialize(serialize::EntitySerializer)
    }

    /// Makes a structure of the entity: the other way of [`Self::from_serialize`]. A property that is missing is an error unless
    /// its field is an `Option` or has a default. A DateTime or Guid can also be read as text, an Int32 as an `i64`.
    ///
    /// # Errors
    /// [`ConvertError`] where entity and structure do not go together.
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T, ConvertError> {
        T::deserialize(deserialize::EntityDeserializer(self))
    }
}
