//! Conversions between values and Rust types.
//!
//! | Rust | value | back |
//! | --- | --- | --- |
//! | `String`, `&str`, `char` | String | `as_str`, `&str`, `String` |
//! | `Vec<u8>`, `&[u8]`, `[u8; N]`, `&[u8; N]` | Binary | `as_bytes`, `&[u8]`, `Vec<u8>` |
//! | `bool` | Boolean | `as_bool`, `bool` |
//! | `i8`, `i16`, `i32`, `u8`, `u16` | Int32 | `as_i32`, `i32` |
//! | `i64`, `u32` | Int64 | `as_i64`, `i64`; both also from an Int32 |
//! | `f32`, `f64` | Double | `as_f64`, `f64` |
//! | [`DateTime`], `SystemTime` | DateTime | `as_date_time`, [`DateTime`], `SystemTime` |
//! | [`Guid`] | Guid | `as_guid`, [`Guid`] |
//!
//! The features `uuid`, `chrono`, `time` and `jiff` add their types.

use crate::{DateTime, EdmType, Guid, Value};
use std::time::SystemTime;
use thiserror::Error;

/// The value does not have the type that a conversion needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected {}, found {}", .expected.name(), .found.name())]
pub struct WrongType {
    /// The type that the conversion needs.
    pub expected: EdmType,
    /// The type of the value.
    pub found: EdmType,
}

/// Implements `From` for Rust types that have an exact counterpart in the data model.
macro_rules! from {
    ($($type:ty => $variant:ident),+ $(,)?) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )+};
}

from! {
    String => String,
    &String => String,
    &str => String,
    char => String,
    Vec<u8> => Binary,
    &[u8] => Binary,
    bool => Boolean,
    i8 => Int32,
    i16 => Int32,
    i32 => Int32,
    u8 => Int32,
    u16 => Int32,
    i64 => Int64,
    u32 => Int64,
    f32 => Double,
    f64 => Double,
    DateTime => DateTime,
    Guid => Guid,
}

impl<const N: usize> From<[u8; N]> for Value {
    fn from(bytes: [u8; N]) -> Self {
        Self::Binary(bytes.into())
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Binary(bytes.into())
    }
}

impl From<SystemTime> for Value {
    /// As [`DateTime::from_system`]: clamped to the range of the service.
    fn from(time: SystemTime) -> Self {
        Self::DateTime(DateTime::from_system(time))
    }
}

impl Value {
    /// The text of a String; `None` for another type.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of a Binary; `None` for another type.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Binary(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value of a Boolean; `None` for another type.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of an Int32; `None` for another type.
    pub fn as_i32(&self) -> Option<i32> {
        match self {
            Self::Int32(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of an Int64 or Int32; `None` for another type.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int64(value) => Some(*value),
            Self::Int32(value) => Some((*value).into()),
            _ => None,
        }
    }

    /// The value of a Double; `None` for another type.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of a DateTime; `None` for another type.
    pub fn as_date_time(&self) -> Option<DateTime> {
        match self {
            Self::DateTime(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of a Guid; `None` for another type.
    pub fn as_guid(&self) -> Option<Guid> {
        match self {
            Self::Guid(value) => Some(*value),
            _ => None,
        }
    }
}

/// Implements `TryFrom<&Value>` by a getter. Its error names the type in the data model.
macro_rules! try_from {
    ($($type:ty, $getter:ident, $edm:ident);+ $(;)?) => {$(
        impl<'a> TryFrom<&'a Value> for $type {
            type Error = WrongType;

            fn try_from(value: &'a Value) -> Result<Self, WrongType> {
                let found = value.edm_type();
                let wrong = WrongType { expected: EdmType::$edm, found };
                value.$getter().map(Into::into).ok_or(wrong)
            }
        }
    )+};
}

try_from! {
    &'a str, as_str, String;
    String, as_str, String;
    &'a [u8], as_bytes, Binary;
    Vec<u8>, as_bytes, Binary;
    bool, as_bool, Boolean;
    i32, as_i32, Int32;
    i64, as_i64, Int64;
    f64, as_f64, Double;
    DateTime, as_date_time, DateTime;
    SystemTime, as_date_time, DateTime;
    Guid, as_guid, Guid;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rust_types_become_values_without_loss() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700);
        let ticks = DateTime::UNIX_EPOCH.ticks() + 17;
        let at = DateTime::from_ticks(ticks).unwrap();
        for (value, expected) in [
            (Value::from(&String::from("a")), Value::String("a".into())),
            (Value::from('ß'), Value::String("ß".into())),
            (Value::from([1_u8, 2]), Value::Binary(vec![1, 2])),
            (Value::from(b"ab"), Value::Binary(b"ab".to_vec())),
            (Value::from(-3_i8), Value::Int32(-3)),
            (Value::from(u16::MAX), Value::Int32(65_535)),
            (Value::from(u32::MAX), Value::Int64(4_294_967_295)),
            (Value::from(0.5_f32), Value::Double(0.5)),
            (Value::from(time), Value::DateTime(at)),
        ] {
            assert_eq!(value, expected);
        }
        assert_eq!(SystemTime::try_from(&Value::DateTime(at)), Ok(time));
    }

    #[test]
    fn values_become_rust_types_of_the_same_kind_only() {
        let text = Value::from("a");
        assert_eq!((text.as_str(), text.as_i64()), (Some("a"), None));
        assert_eq!(<&str>::try_from(&text), Ok("a"));
        assert_eq!(Value::from(7).as_i64(), Some(7));
        assert_eq!(Value::from(7_i64).as_i32(), None);
        assert_eq!(Vec::try_from(&Value::from(b"ab")), Ok(b"ab".to_vec()));
        assert_eq!(Value::from(Guid([3; 16])).as_guid(), Some(Guid([3; 16])));
        let error = i32::try_from(&text).unwrap_err();
        assert_eq!(error.to_string(), "expected Edm.Int32, found Edm.String");
    }
}
