//! From Rust structures to entities.

use super::{ETag, Entity};
use partita_model::{DATE_TIME_NEWTYPE, DateTime, GUID_NEWTYPE, Guid, Value};
use serde::ser::{self, Impossible, Serialize};
use std::fmt::Display;
use thiserror::Error;

/// An entity and a Rust type that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConvertError(pub(super) String);

impl ser::Error for ConvertError {
    fn custom<T: Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

impl serde::de::Error for ConvertError {
    fn custom<T: Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

fn unfit<T>(what: &str) -> Result<T, ConvertError> {
    Err(ConvertError(format!(
        "{what} cannot be stored in a property"
    )))
}

fn no_entity<T>() -> Result<T, ConvertError> {
    Err(ConvertError(
        "only a structure or a map makes an entity".to_owned(),
    ))
}

/// Takes a structure or map.
pub(super) struct EntitySerializer;

/// Collects its fields.
pub(super) struct Fields {
    entity: Entity,
    has_keys: [bool; 2],
    /// The key of a map, whose value comes next.
    key: String,
}

impl Fields {
    fn new() -> Self {
        Self {
            entity: Entity::default(),
            has_keys: [false; 2],
            key: String::new(),
        }
    }

    fn add<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ConvertError> {
        let within = |ConvertError(text)| ConvertError(format!("{name}: {text}"));
        let Some(value) = value.serialize(ValueSerializer).map_err(within)? else {
            return Ok(());
        };
        let no_text = || ConvertError(format!("{name} is no text"));
        match (name, value) {
            ("PartitionKey", Value::String(key)) => {
                (self.entity.partition_key, self.has_keys[0]) = (key, true);
            }
            ("RowKey", Value::String(key)) => {
                (self.entity.row_key, self.has_keys[1]) = (key, true);
            }
            ("odata.etag", Value::String(etag)) => self.entity.etag = Some(ETag::from(&*etag)),
            ("Timestamp", Value::DateTime(time)) => self.entity.timestamp = Some(time),
            ("PartitionKey" | "RowKey" | "odata.etag", _) => return Err(no_text()),
            ("Timestamp", _) => return Err(ConvertError("Timestamp is no DateTime".to_owned())),
            (name, value) => {
                self.entity.insert(name, value);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Entity, ConvertError> {
        for (name, given) in ["PartitionKey", "RowKey"].into_iter().zip(self.has_keys) {
            if !given {
                return Err(ConvertError(format!("{name} is missing")));
            }
        }
        Ok(self.entity)
    }
}

impl ser::SerializeStruct for Fields {
    type Ok = Entity;
    type Error = ConvertError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ConvertError> {
        self.add(name, value)
    }

    fn end(self) -> Result<Entity, ConvertError> {
        self.finish()
    }
}

impl ser::SerializeMap for Fields {
    type Ok = Entity;
    type Error = ConvertError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        match key.serialize(ValueSerializer)? {
            Some(Value::String(key)) => self.key = key,
            _ => return Err(ConvertError("the name of a property is no text".to_owned())),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let name = std::mem::take(&mut self.key);
        self.add(&name, value)
    }

    fn end(self) -> Result<Entity, ConvertError> {
        self.finish()
    }
}

/// Methods that a serializer must have, for what it has no use for: each gives the same answer.
macro_rules! refuse {
    ($refuse:expr; $($method:ident($($argument:ident: $type:ty),*)),+ $(,)?) => {$(
        fn $method(self, $($argument: $type),*) -> Result<Self::Ok, ConvertError> {
            $(let _ = $argument;)*
            $refuse
        }
    )+};
}

impl ser::Serializer for EntitySerializer {
    type Ok = Entity;
    type Error = ConvertError;
    type SerializeSeq = Impossible<Entity, ConvertError>;
    type SerializeTuple = Impossible<Entity, ConvertError>;
    type SerializeTupleStruct = Impossible<Entity, ConvertError>;
    type SerializeTupleVariant = Impossible<Entity, ConvertError>;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Impossible<Entity, ConvertError>;

    refuse! { no_entity();
        serialize_bool(value: bool), serialize_i8(value: i8), serialize_i16(value: i16),
        serialize_i32(value: i32), serialize_i64(value: i64), serialize_u8(value: u8),
        serialize_u16(value: u16), serialize_u32(value: u32), serialize_u64(value: u64),
        serialize_f32(value: f32), serialize_f64(value: f64), serialize_char(value: char),
        serialize_str(value: &str), serialize_bytes(value: &[u8]), serialize_none(),
        serialize_unit(), serialize_unit_struct(name: &'static str),
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str),
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Entity, ConvertError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Entity, ConvertError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Entity, ConvertError> {
        no_entity()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, ConvertError> {
        no_entity()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, ConvertError> {
        no_entity()
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, ConvertError> {
        no_entity()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ConvertError> {
        no_entity()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields, ConvertError> {
        Ok(Fields::new())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields, ConvertError> {
        Ok(Fields::new())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, ConvertError> {
        no_entity()
    }
}

/// Takes the value of a field; `None` is no property.
struct ValueSerializer;

/// A sequence of bytes, the only one that a property can hold.
struct Bytes(Vec<u8>);

impl ser::SerializeSeq for Bytes {
    type Ok = Option<Value>;
    type Error = ConvertError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let byte = match value.serialize(ValueSerializer)? {
            Some(Value::Int32(value)) => u8::try_from(value).ok(),
            _ => None,
        };
        match byte {
            Some(byte) => self.0.push(byte),
            None => return unfit("a sequence of anything but bytes"),
        }
        Ok(())
    }

    fn end(self) -> Result<Option<Value>, ConvertError> {
        Ok(Some(Value::Binary(self.0)))
    }
}

impl ser::SerializeTuple for Bytes {
    type Ok = Option<Value>;
    type Error = ConvertError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        ser::SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Option<Value>, ConvertError> {
        ser::SerializeSeq::end(self)
    }
}

/// Values that are properties as they are, or once converted.
macro_rules! take {
    ($($method:ident($type:ty) => $variant:ident),+ $(,)?) => {$(
        fn $method(self, value: $type) -> Result<Option<Value>, ConvertError> {
            Ok(Some(Value::$variant(value.into())))
        }
    )+};
}

fn int64(value: impl TryInto<i64>) -> Result<Option<Value>, ConvertError> {
    match value.try_into() {
        Ok(value) => Ok(Some(Value::Int64(value))),
        Err(_) => unfit("an integer beyond 64 bits with a sign"),
    }
}

impl ser::Serializer for ValueSerializer {
    type Ok = Option<Value>;
    type Error = ConvertError;
    type SerializeSeq = Bytes;
    type SerializeTuple = Bytes;
    type SerializeTupleStruct = Impossible<Self::Ok, ConvertError>;
    type SerializeTupleVariant = Impossible<Self::Ok, ConvertError>;
    type SerializeMap = Impossible<Self::Ok, ConvertError>;
    type SerializeStruct = Impossible<Self::Ok, ConvertError>;
    type SerializeStructVariant = Impossible<Self::Ok, ConvertError>;

    take! {
        serialize_bool(bool) => Boolean,
        serialize_i8(i8) => Int32,
        serialize_i16(i16) => Int32,
        serialize_i32(i32) => Int32,
        serialize_u8(u8) => Int32,
        serialize_u16(u16) => Int32,
        serialize_i64(i64) => Int64,
        serialize_u32(u32) => Int64,
        serialize_f32(f32) => Double,
        serialize_f64(f64) => Double,
        serialize_char(char) => String,
        serialize_str(&str) => String,
        serialize_bytes(&[u8]) => Binary,
    }

    fn serialize_u64(self, value: u64) -> Result<Option<Value>, ConvertError> {
        int64(value)
    }

    fn serialize_i128(self, value: i128) -> Result<Option<Value>, ConvertError> {
        int64(value)
    }

    fn serialize_u128(self, value: u128) -> Result<Option<Value>, ConvertError> {
        int64(value)
    }

    fn serialize_none(self) -> Result<Option<Value>, ConvertError> {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(
        self,
        value: &T,
    ) -> Result<Option<Value>, ConvertError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Option<Value>, ConvertError> {
        Ok(None)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Option<Value>, ConvertError> {
        Ok(None)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Option<Value>, ConvertError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Option<Value>, ConvertError> {
        let inner = value.serialize(self)?;
        let typed = match (name, &inner) {
            (DATE_TIME_NEWTYPE, Some(Value::String(text))) => {
                DateTime::parse(text).ok().map(Value::DateTime)
            }
            (GUID_NEWTYPE, Some(Value::String(text))) => Guid::parse(text).ok().map(Value::Guid),
            _ => None,
        };
        Ok(typed.or(inner))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Option<Value>, ConvertError> {
        unfit("a variant with data")
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Bytes, ConvertError> {
        Ok(Bytes(Vec::with_capacity(
            length.unwrap_or(0).min(64 * 1024),
        )))
    }

    fn serialize_tuple(self, length: usize) -> Result<Bytes, ConvertError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, ConvertError> {
        unfit("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ConvertError> {
        unfit("a variant with data")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, ConvertError> {
        unfit("a map")
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, ConvertError> {
        unfit("a structure")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, ConvertError> {
        unfit("a variant with data")
    }
}
