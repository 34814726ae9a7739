//! Converts values to and from the text of CSV cells.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use partita_model::{DateTime, EdmType, Guid, Value};
use partita_wire::table::push_value_text;
use std::borrow::Cow;

/// The text of a value, as in the protocol, except that minus zero keeps its sign.
pub(super) fn to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Double(zero) if *zero == 0.0 && zero.is_sign_negative() => Cow::Borrowed("-0.0"),
        value => {
            let mut text = String::new();
            push_value_text(value.as_ref(), &mut text);
            Cow::Owned(text)
        }
    }
}

/// Parses the text of a cell; `None` if it is not a valid value of the type.
pub(super) fn from_text(text: &str, edm: EdmType) -> Option<Value> {
    Some(match edm {
        EdmType::String => Value::String(text.to_owned()),
        EdmType::Boolean if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
        EdmType::Boolean if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
        EdmType::Boolean => return None,
        EdmType::Int32 => Value::Int32(text.parse().ok()?),
        EdmType::Int64 => Value::Int64(text.parse().ok()?),
        // Also accepts "inf" and other names of Rust's parser, which the service does not write.
        EdmType::Double => Value::Double(text.parse().ok()?),
        EdmType::DateTime => Value::DateTime(DateTime::parse(text).ok()?),
        EdmType::Guid => Value::Guid(Guid::parse(text).ok()?),
        EdmType::Binary => Value::Binary(STANDARD.decode(text).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_trip() {
        for (value, text) in [
            (5.0, "5.0"),
            (-0.0, "-0.0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (1e300, "1E+300"),
        ] {
            assert_eq!(to_text(&Value::Double(value)), text);
            let Some(Value::Double(read)) = from_text(text, EdmType::Double) else {
                panic!("{text} is a double");
            };
            assert!(read.to_bits() == value.to_bits() || read.is_nan() && value.is_nan());
        }
    }

    #[test]
    fn invalid_values_are_refused() {
        for text in ["", "2147483648", "null"] {
            assert_eq!(from_text(text, EdmType::Int32), None, "{text}");
        }
        for (text, edm) in [
            ("1.5", EdmType::Int64),
            ("yes", EdmType::Boolean),
            ("1600-01-01T00:00:00Z", EdmType::DateTime),
            ("0", EdmType::Guid),
            ("=", EdmType::Binary),
        ] {
            assert_eq!(from_text(text, edm), None, "{text}");
        }
        assert_eq!(
            from_text("TRUE", EdmType::Boolean),
            Some(Value::Boolean(true))
        );
    }
}
