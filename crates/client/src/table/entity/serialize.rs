//! Converts Rust structs and maps to entities.

use super::{ConvertError, ETag, Entity};
use partita_model::{DATE_TIME_NEWTYPE, DateTime, GUID_NEWTYPE, Guid, Value};
use serde::ser::{self, Impossible, Serialize};

/// What errors call a sequence. It is refused whatever its elements are: if it were a Binary whenever all of them are
/// bytes, the type of a property would depend on the data.
const SEQUENCE: &str = "a sequence (for bytes, add #[serde(with = \"serde_bytes\")] to the field; else store it as text)";

/// Converts a struct or map to an entity.
pub(super) fn to_entity(value: &impl Serialize) -> Result<Entity, ConvertError> {
    match value.serialize(EntitySerializer::Entity)? {
        Serialized::Entity(entity) => Ok(entity),
        Serialized::Absent | Serialized::Value(_) => {
            EntitySerializer::Entity.refuse("a flat value")
        }
    }
}

/// The serialized form of a Rust value.
enum Serialized {
    /// `None` and unit: no property.
    Absent,
    Value(Value),
    Entity(Entity),
}

/// A serializer of one Rust value, by the position of the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntitySerializer {
    /// The whole entity: a struct or map.
    Entity,
    /// A property: any value without fields.
    Property,
}

type Refused = Impossible<Serialized, ConvertError>;

impl EntitySerializer {
    fn refuse<T>(self, what: &str) -> Result<T, ConvertError> {
        Err(ConvertError(match self {
            Self::Entity => "only a struct or a map can be stored as an entity".to_owned(),
            Self::Property => format!("{what} cannot be stored in a property"),
        }))
    }

    /// Begins to collect the fields of a struct or map, called `what` in errors. Fails for a property.
    fn fields(self, what: &str) -> Result<Fields, ConvertError> {
        match self {
            Self::Entity => Ok(Fields::default()),
            Self::Property => self.refuse(what),
        }
    }

    fn int64(self, value: impl TryInto<i64>) -> Result<Serialized, ConvertError> {
        match value.try_into() {
            Ok(value) => Ok(Serialized::Value(Value::Int64(value))),
            Err(_) => self.refuse("an integer beyond the range of i64"),
        }
    }
}

/// Collects the fields of a struct or map.
#[derive(Default)]
struct Fields {
    entity: Entity,
    has_keys: [bool; 2],
    /// The key of a map's entry, until its value arrives.
    key: String,
}

impl Fields {
    fn add<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ConvertError> {
        let value = match value.serialize(EntitySerializer::Property) {
            Ok(Serialized::Value(value)) => value,
            Ok(Serialized::Absent | Serialized::Entity(_)) => return Ok(()),
            Err(ConvertError(text)) => return Err(ConvertError(format!("{name}: {text}"))),
        };
        match (name, value) {
            ("PartitionKey", Value::String(key)) => {
                (self.entity.partition_key, self.has_keys[0]) = (key, true);
            }
            ("RowKey", Value::String(key)) => {
                (self.entity.row_key, self.has_keys[1]) = (key, true);
            }
            ("odata.etag", Value::String(etag)) => self.entity.etag = Some(ETag::from(&*etag)),
            ("Timestamp", Value::DateTime(time)) => self.entity.timestamp = Some(time),
            ("PartitionKey" | "RowKey" | "odata.etag", _) => {
                return Err(ConvertError(format!("{name} must be a String")));
            }
            ("Timestamp", _) => {
                return Err(ConvertError("Timestamp must be a DateTime".to_owned()));
            }
            (name, value) => {
                self.entity.insert(name, value);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Serialized, ConvertError> {
        let keys = ["PartitionKey", "RowKey"].into_iter().zip(self.has_keys);
        match keys.into_iter().find(|(_, is_set)| !is_set) {
            Some((name, _)) => Err(ConvertError(format!("{name} is missing"))),
            None => Ok(Serialized::Entity(self.entity)),
        }
    }
}

impl ser::SerializeStruct for Fields {
    type Ok = Serialized;
    type Error = ConvertError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ConvertError> {
        self.add(name, value)
    }

    fn end(self) -> Result<Serialized, ConvertError> {
        self.finish()
    }
}

impl ser::SerializeMap for Fields {
    type Ok = Serialized;
    type Error = ConvertError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        match key.serialize(EntitySerializer::Property)? {
            Serialized::Value(Value::String(key)) => self.key = key,
            _ => return Err(ConvertError("property names must be Strings".to_owned())),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let name = std::mem::take(&mut self.key);
        self.add(&name, value)
    }

    fn end(self) -> Result<Serialized, ConvertError> {
        self.finish()
    }
}

/// Methods for values that a property holds as they are, or after a lossless conversion.
macro_rules! take {
    ($($method:ident($type:ty) => $variant:ident),+ $(,)?) => {$(
        fn $method(self, value: $type) -> Result<Serialized, ConvertError> {
            Ok(Serialized::Value(Value::$variant(value.into())))
        }
    )+};
}

impl ser::Serializer for EntitySerializer {
    type Ok = Serialized;
    type Error = ConvertError;
    type SerializeSeq = Refused;
    type SerializeTuple = Refused;
    type SerializeTupleStruct = Refused;
    type SerializeTupleVariant = Refused;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Refused;

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

    fn serialize_u64(self, value: u64) -> Result<Serialized, ConvertError> {
        self.int64(value)
    }

    fn serialize_i128(self, value: i128) -> Result<Serialized, ConvertError> {
        self.int64(value)
    }

    fn serialize_u128(self, value: u128) -> Result<Serialized, ConvertError> {
        self.int64(value)
    }

    fn serialize_none(self) -> Result<Serialized, ConvertError> {
        Ok(Serialized::Absent)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Serialized, ConvertError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Serialized, ConvertError> {
        Ok(Serialized::Absent)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Serialized, ConvertError> {
        Ok(Serialized::Absent)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Serialized, ConvertError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Serialized, ConvertError> {
        let inner = value.serialize(self)?;
        let typed = match (name, &inner) {
            (DATE_TIME_NEWTYPE, Serialized::Value(Value::String(text))) => {
                DateTime::parse(text).ok().map(Value::DateTime)
            }
            (GUID_NEWTYPE, Serialized::Value(Value::String(text))) => {
                Guid::parse(text).ok().map(Value::Guid)
            }
            _ => None,
        };
        Ok(typed.map_or(inner, Serialized::Value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Serialized, ConvertError> {
        self.refuse("a variant with data")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Refused, ConvertError> {
        self.refuse(SEQUENCE)
    }

    fn serialize_tuple(self, _: usize) -> Result<Refused, ConvertError> {
        self.refuse(SEQUENCE)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Refused, ConvertError> {
        self.refuse("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Refused, ConvertError> {
        self.refuse("a variant with data")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields, ConvertError> {
        self.fields("a map")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields, ConvertError> {
        self.fields("a struct")
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Refused, ConvertError> {
        self.serialize_tuple_variant(name, index, variant, length)
    }
}
