//! From entities to Rust structures.

use super::serialize::ConvertError;
use super::{ETag, Entity};
use partita_model::Value;
use serde::de::value::{
    BorrowedStrDeserializer, SeqDeserializer, StrDeserializer, StringDeserializer,
};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::sync::Arc;

/// Gives an entity as a map: keys, Timestamp and ETag first, then the properties.
pub(super) struct EntityDeserializer(pub(super) Entity);

impl<'de> Deserializer<'de> for EntityDeserializer {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        let Entity {
            partition_key,
            row_key,
            timestamp,
            etag,
            properties,
        } = self.0;
        let keys = [
            Some(("PartitionKey", Value::String(partition_key))),
            Some(("RowKey", Value::String(row_key))),
            timestamp.map(|time| ("Timestamp", Value::DateTime(time))),
            etag.map(|ETag(text)| ("odata.etag", Value::String(text.into()))),
        ];
        visitor.visit_map(Members {
            system: keys.into_iter(),
            properties: properties.into_iter(),
            next: None,
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The members that are still to come.
struct Members<S, P> {
    system: S,
    properties: P,
    /// The value of the name that was given last.
    next: Option<Value>,
}

impl<'de, S, P> MapAccess<'de> for Members<S, P>
where
    S: Iterator<Item = Option<(&'static str, Value)>>,
    P: Iterator<Item = (Arc<str>, Value)>,
{
    type Error = ConvertError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ConvertError> {
        if let Some((name, value)) = self.system.by_ref().flatten().next() {
            self.next = Some(value);
            return seed
                .deserialize(BorrowedStrDeserializer::new(name))
                .map(Some);
        }
        let Some((name, value)) = self.properties.next() else {
            return Ok(None);
        };
        self.next = Some(value);
        let name: StrDeserializer<'_, ConvertError> = (&*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, ConvertError> {
        let value = self
            .next
            .take()
            .ok_or_else(|| ConvertError("no value comes without its name".to_owned()))?;
        seed.deserialize(ValueDeserializer(value))
    }
}

/// Gives the value of a property.
struct ValueDeserializer(Value);

impl<'de> Deserializer<'de> for ValueDeserializer {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Binary(bytes) => visitor.visit_byte_buf(bytes),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Int32(value) => visitor.visit_i32(value),
            Value::Int64(value) => visitor.visit_i64(value),
            Value::Double(value) => visitor.visit_f64(value),
            Value::DateTime(value) => visitor.visit_str(&value.text()),
            Value::Guid(value) => visitor.visit_str(&value.text()),
        }
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
        match self.0 {
            Value::Binary(bytes) => visitor.visit_seq(SeqDeserializer::new(bytes.into_iter())),
            other => Self(other).deserialize_any(visitor),
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
        match self.0 {
            Value::String(variant) => {
                let variant: StringDeserializer<ConvertError> = variant.into_deserializer();
                visitor.visit_enum(variant)
            }
            _ => Err(de::Error::custom("the name of a variant is no text")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct tuple_struct map struct identifier ignored_any
    }
}
