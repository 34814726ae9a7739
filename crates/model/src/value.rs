//! Typed property values.

use crate::{DateTime, Guid};

/// The eight types of the service's data model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdmType {
    /// UTF-16 text, at most 32,768 code units.
    String,
    /// Bytes, at most 65,536.
    Binary,
    /// True or false.
    Boolean,
    /// 32-bit signed integer.
    Int32,
    /// 64-bit signed integer.
    Int64,
    /// 64-bit floating-point number, including NaN and infinities.
    Double,
    /// Date and time in UTC, in steps of 100 ns, since 1601.
    DateTime,
    /// 128-bit identifier.
    Guid,
}

impl EdmType {
    /// All types.
    pub const ALL: [Self; 8] = [
        Self::String,
        Self::Binary,
        Self::Boolean,
        Self::Int32,
        Self::Int64,
        Self::Double,
        Self::DateTime,
        Self::Guid,
    ];

    /// The name in annotations, such as `Edm.Int64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "Edm.String",
            Self::Binary => "Edm.Binary",
            Self::Boolean => "Edm.Boolean",
            Self::Int32 => "Edm.Int32",
            Self::Int64 => "Edm.Int64",
            Self::Double => "Edm.Double",
            Self::DateTime => "Edm.DateTime",
            Self::Guid => "Edm.Guid",
        }
    }

    /// The type with this name; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edm| edm.name() == name)
    }
}

/// A value of one of the eight types, with text of type `T` and bytes of type `B`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TypedValue<T, B> {
    /// [`EdmType::String`].
    String(T),
    /// [`EdmType::Binary`].
    Binary(B),
    /// [`EdmType::Boolean`].
    Boolean(bool),
    /// [`EdmType::Int32`].
    Int32(i32),
    /// [`EdmType::Int64`].
    Int64(i64),
    /// [`EdmType::Double`].
    Double(f64),
    /// [`EdmType::DateTime`].
    DateTime(DateTime),
    /// [`EdmType::Guid`].
    Guid(Guid),
}

/// A value that owns its data.
pub type Value = TypedValue<String, Vec<u8>>;

/// A value that borrows its data.
pub type ValueRef<'a> = TypedValue<&'a str, &'a [u8]>;

impl<T, B> TypedValue<T, B> {
    /// The type of the value.
    pub const fn edm_type(&self) -> EdmType {
        match self {
            Self::String(_) => EdmType::String,
            Self::Binary(_) => EdmType::Binary,
            Self::Boolean(_) => EdmType::Boolean,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::Double(_) => EdmType::Double,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Guid(_) => EdmType::Guid,
        }
    }
}

impl Value {
    /// The value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::String(text) => ValueRef::String(text),
            Self::Binary(bytes) => ValueRef::Binary(bytes),
            Self::Boolean(value) => ValueRef::Boolean(*value),
            Self::Int32(value) => ValueRef::Int32(*value),
            Self::Int64(value) => ValueRef::Int64(*value),
            Self::Double(value) => ValueRef::Double(*value),
            Self::DateTime(value) => ValueRef::DateTime(*value),
            Self::Guid(value) => ValueRef::Guid(*value),
        }
    }

    /// Whether both values have the same type and value: here NaN equals NaN, and minus zero equals zero.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Double(one), Self::Double(other)) if one.is_nan() => other.is_nan(),
            (one, other) => one == other,
        }
    }
}

impl ValueRef<'_> {
    /// A copy that owns its data.
    pub fn to_value(&self) -> Value {
        match *self {
            Self::String(text) => Value::String(text.to_owned()),
            Self::Binary(bytes) => Value::Binary(bytes.to_vec()),
            Self::Boolean(value) => Value::Boolean(value),
            Self::Int32(value) => Value::Int32(value),
            Self::Int64(value) => Value::Int64(value),
            Self::Double(value) => Value::Double(value),
            Self::DateTime(value) => Value::DateTime(value),
            Self::Guid(value) => Value::Guid(value),
        }
    }

    /// The bytes of the value, without its name, by the service's size formula: String 4 plus 2 for each UTF-16 code
    /// unit, Binary 4 plus its length, Int32 4, Int64, Double and DateTime 8, Guid 16, Boolean 1.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::String(text) => 4 + 2 * crate::utf16_len(text),
            Self::Binary(bytes) => 4 + bytes.len(),
            Self::Boolean(_) => 1,
            Self::Int32(_) => 4,
            Self::Int64(_) | Self::Double(_) | Self::DateTime(_) => 8,
            Self::Guid(_) => 16,
        }
    }
}
