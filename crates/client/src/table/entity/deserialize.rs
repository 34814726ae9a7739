//! Converts entities to Rust structs and maps.

use super::{ConvertError, ETag, Entity};
use partita_model::Value;
use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The source of a Rust value. Deserializing an entity moves its keys and values out of it.
pub(super) enum Source<'a> {
    /// A map: keys, Timestamp and ETag first, then the properties.
    Entity(&'a mut Entity),
    /// A value with the name of its property, for errors.
    Property(&'a str, Value),
}

impl Source<'_> {
    /// An error with the name of the property.
    fn named(name: &str) -> impl Fn(ConvertError) -> ConvertError {
        move |ConvertError(text)| ConvertError(format!("{name}: {text}"))
    }
}

impl IntoDeserializer<'_, ConvertError> for Source<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Source<'_> {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        let (name, value) = match self {
            Self::Entity(entity) => return visit_entity(entity, visitor),
            Self::Property(name, value) => (name, value),
        };
        let visited = match value {
            Value::String(text) => visitor.visit_string(text),
            Value::Binary(bytes) => visitor.visit_byte_buf(bytes),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Int32(value) => visitor.visit_i32(value),
            Value::Int64(value) => visitor.visit_i64(value),
            Value::Double(value) => visitor.visit_f64(value),
            Value::DateTime(value) => visitor.visit_str(&value.text()),
            Value::Guid(value) => visitor.visit_str(&value.text()),
        };
        visited.map_err(Self::named(name))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        match self {
            Self::Property(name, Value::Binary(bytes)) => visitor
                .visit_seq(SeqDeserializer::new(bytes.into_iter()))
                .map_err(Self::named(name)),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        match self {
            Self::Property(name, Value::String(variant)) => visitor
                .visit_enum(StringDeserializer::new(variant))
                .map_err(Self::named(name)),
            Self::Property(name, _) => {
                let error = de::Error::custom("the name of a variant must be a String");
                Err(Self::named(name)(error))
            }
            Self::Entity(_) => Err(de::Error::custom("an entity is not a variant of an enum")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct tuple_struct map struct identifier ignored_any
    }
}

fn visit_entity<'de, V: Visitor<'de>>(
    entity: &mut Entity,
    visitor: V,
) -> Result<V::Value, ConvertError> {
    let key = |key: &mut String| Some(Value::String(std::mem::take(key)));
    let system = [
        ("PartitionKey", key(&mut entity.partition_key)),
        ("RowKey", key(&mut entity.row_key)),
        ("Timestamp", entity.timestamp.take().map(Value::DateTime)),
        (
            "odata.etag",
            (entity.etag.take()).map(|ETag(text)| Value::String(text.into())),
        ),
    ];
    let system = system
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let properties = entity.properties.iter_mut().map(|(name, value)| {
        let taken = std::mem::replace(value, Value::Boolean(false));
        (&**name, taken)
    });
    let members = system.chain(properties);
    visitor.visit_map(MapDeserializer::new(
        members.map(|(name, value)| (name, Source::Property(name, value))),
    ))
}
