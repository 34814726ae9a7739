//! Converts a JSON value and its annotation to a typed value.
//!
//! | annotation | JSON | value |
//! | --- | --- | --- |
//! | none | string, boolean | String, Boolean |
//! | none | number of 32 bits without point and exponent | Int32 |
//! | none | any other number | Double |
//! | `Edm.X` | the JSON type of X, or its text as a string | X |
//!
//! Sources: service document "Payload format for Table service operations"; recordings python--… and js--… send doubles
//! with and without point, and as strings. The OData library of the service accepts strings for every numeric type.

use super::double::push_double;
use crate::json::{Token, unescape};
use crate::{ErrorCode, Failure};
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use partita_model::{DateTime, EdmType, Guid, ParseDateTimeError, Value, ValueRef};

/// The Base64 that .NET reads: padding is required, but bits after the last byte need not be zero.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Buffers for decoded values, reused for each value.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    text: String,
    bytes: Vec<u8>,
}

impl Scratch {
    /// The value of a property; `None` for null.
    ///
    /// # Errors
    /// 400 InvalidInput for a value that does not fit its type; 400 OutOfRangeInput, which names the property, for a
    /// date-time before 1601.
    #[inline]
    pub(super) fn value<'v>(
        &'v mut self,
        name: &str,
        token: Token<'v>,
        edm: Option<EdmType>,
    ) -> Result<Option<ValueRef<'v>>, Failure> {
        let value = match token {
            Token::Null => return Ok(None),
            Token::Boolean(value) => match edm {
                None | Some(EdmType::Boolean) => ValueRef::Boolean(value),
                Some(_) => return Err(unreadable()),
            },
            Token::Number(text) => number(text, edm).ok_or_else(unreadable)?,
            Token::Nested => return Err(unreadable()),
            Token::Plain(text) => typed_text(name, text, edm, &mut self.bytes)?,
            Token::Escaped(raw) => {
                self.text.clear();
                unescape(raw, &mut self.text).ok_or_else(unreadable)?;
                typed_text(name, &self.text, edm, &mut self.bytes)?
            }
        };
        Ok(Some(value))
    }
}

/// Reads a value of a type from a text, as it is in a JSON string: a Binary is in Base64, NaN and the infinities have
/// names, a String is the text itself.
///
/// # Errors
/// 400 InvalidInput for a text that is not a value of the type; 400 OutOfRangeInput for a date-time before 1601.
pub fn read_value_text(edm: EdmType, text: &str) -> Result<Value, Failure> {
    typed_text("value", text, Some(edm), &mut Vec::new()).map(|value| value.to_value())
}

/// Appends the text from which [`read_value_text`] reads the value.
pub fn push_value_text(value: ValueRef<'_>, out: &mut String) {
    match value {
        ValueRef::String(text) => out.push_str(text),
        ValueRef::Binary(bytes) => BASE64.encode_string(bytes, out),
        ValueRef::Boolean(value) => out.push_str(if value { "true" } else { "false" }),
        ValueRef::Int32(value) => out.push_str(itoa::Buffer::new().format(value)),
        ValueRef::Int64(value) => out.push_str(itoa::Buffer::new().format(value)),
        ValueRef::Double(value) => {
            let mut text = Vec::with_capacity(24);
            push_double(value, &mut text);
            let text = String::from_utf8_lossy(&text);
            out.push_str(text.trim_matches('"'));
        }
        ValueRef::DateTime(value) => out.push_str(&value.text()),
        ValueRef::Guid(value) => out.push_str(&value.text()),
    }
}

/// The failure for a body that cannot be read, with the text of the service.
pub(super) fn unreadable() -> Failure {
    Failure::with_message(
        ErrorCode::InvalidInput,
        "An error occurred while processing this request.",
    )
}

fn number(text: &str, edm: Option<EdmType>) -> Option<ValueRef<'static>> {
    match edm {
        None => {
            let value = short_integer(text)
                .map(i64::from)
                .or_else(|| text.parse().ok());
            match value.map(i32::try_from) {
                Some(Ok(value)) => Some(ValueRef::Int32(value)),
                _ => double(text).map(ValueRef::Double),
            }
        }
        Some(EdmType::Int32) => text.parse().ok().map(ValueRef::Int32),
        Some(EdmType::Int64) => text.parse().ok().map(ValueRef::Int64),
        Some(EdmType::Double) => double(text).map(ValueRef::Double),
        Some(_) => None,
    }
}

/// An integer of up to nine digits: the usual case, which cannot overflow.
#[inline]
fn short_integer(text: &str) -> Option<i32> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    let mut value = 0_i32;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i32::from(digit - b'0');
    }
    Some(if negative { -value } else { value })
}

/// A finite double. Minus zero is stored as zero (service document "Payload format for Table service operations").
fn double(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(value + 0.0)
}

/// A double in a string. The service uses the names of OData 3.0; `INF` is the older XML name.
fn quoted_double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        // Rust's parser accepts other names for NaN and infinities, which the service refuses.
        other
            if other
                .bytes()
                .any(|byte| byte.is_ascii_alphabetic() && !byte.eq_ignore_ascii_case(&b'e')) =>
        {
            None
        }
        other => double(other),
    }
}

#[inline]
fn typed_text<'v>(
    name: &str,
    text: &'v str,
    edm: Option<EdmType>,
    bytes: &'v mut Vec<u8>,
) -> Result<ValueRef<'v>, Failure> {
    let value = match edm {
        None | Some(EdmType::String) => Some(ValueRef::String(text)),
        Some(EdmType::Int64) => text.parse().ok().map(ValueRef::Int64),
        Some(EdmType::Int32) => text.parse().ok().map(ValueRef::Int32),
        Some(EdmType::Double) => quoted_double(text).map(ValueRef::Double),
        Some(EdmType::Boolean) => match text {
            "true" | "True" => Some(ValueRef::Boolean(true)),
            "false" | "False" => Some(ValueRef::Boolean(false)),
            _ => None,
        },
        Some(EdmType::Guid) => Guid::parse(text).ok().map(ValueRef::Guid),
        Some(EdmType::DateTime) => Some(ValueRef::DateTime(date_time(name, text)?)),
        Some(EdmType::Binary) => binary(text, bytes).map(ValueRef::Binary),
    };
    value.ok_or_else(unreadable)
}

fn date_time(name: &str, text: &str) -> Result<DateTime, Failure> {
    match DateTime::parse(text) {
        Ok(value) => Ok(value),
        Err(ParseDateTimeError::Malformed) => Err(unreadable()),
        Err(ParseDateTimeError::OutOfRange(far)) => {
            let (year, month, day, hour, minute, second, _) = far.fields();
            let message = format!(
                "The '{name}' parameter of value '{month:02}/{day:02}/{year:04} {hour:02}:{minute:02}:{second:02}' is out of range."
            );
            Err(Failure::with_message(ErrorCode::OutOfRangeInput, message))
        }
    }
}

/// Base64; white space in it is ignored, as in .NET.
fn binary<'v>(text: &str, bytes: &'v mut Vec<u8>) -> Option<&'v [u8]> {
    bytes.clear();
    if BASE64.decode_vec(text, bytes).is_err() {
        let packed: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        bytes.clear();
        if packed.len() == text.len() || BASE64.decode_vec(packed, bytes).is_err() {
            return None;
        }
    }
    Some(bytes)
}
