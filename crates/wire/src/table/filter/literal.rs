//! Literals of a filter (service document "Querying tables and entities").

use super::hint;
use super::lexer::Lexer;
use super::token::{Kind, Token};
use crate::Failure;
use partita_model::{DateTime, EdmType, Guid, ParseDateTimeError, Value};

/// The value of a literal token; `None` for any other token, and for the word `null`.
///
/// # Errors
/// 400 InvalidInput "Unrecognized 'Edm.X' literal …" for a literal that is not valid for its type.
pub(super) fn literal(lexer: &Lexer<'_>, token: &Token<'_>) -> Result<Option<Value>, Failure> {
    match token.kind {
        Kind::Number => number(lexer, token).map(Some),
        Kind::Quoted => quoted(lexer, token).map(Some),
        Kind::Word => Ok(match token.text {
            // Upper and lower case are accepted: Azurite issue 1947 shows that the service accepts `True`. Operators
            // must be lower-case.
            word if word.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
            word if word.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
            "NaN" => Some(Value::Double(f64::NAN)),
            "INF" => Some(Value::Double(f64::INFINITY)),
            _ => None,
        }),
        Kind::End | Kind::Open | Kind::Close | Kind::Sign => Ok(None),
    }
}

/// The value of a number: with the suffix `L` an Int64; with the suffix `D`, a fraction or an exponent a Double;
/// otherwise an Int32. The service does not have the types Single (`f`) and Decimal (`m`).
fn number(lexer: &Lexer<'_>, token: &Token<'_>) -> Result<Value, Failure> {
    let text = token.text;
    if matches!(text, "-INF" | "-Infinity" | "-inf") {
        return Ok(Value::Double(f64::NEG_INFINITY));
    }
    let cut = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let edm = match text.get(cut.len()..) {
        Some("L" | "l") => EdmType::Int64,
        Some("D" | "d") => EdmType::Double,
        Some("") if cut.contains(['.', 'e', 'E']) => EdmType::Double,
        Some("") => EdmType::Int32,
        _ => return Err(lexer.syntax_error(token, hint::number_suffix(text))),
    };
    let value = match edm {
        EdmType::Int64 => cut.parse().ok().map(Value::Int64),
        EdmType::Int32 => cut.parse().ok().map(Value::Int32),
        _ => double(cut).map(Value::Double),
    };
    value.ok_or_else(|| lexer.unrecognized(edm, token))
}

/// A finite double with digits on both sides of its point.
fn double(text: &str) -> Option<f64> {
    if text.ends_with('.') || text.contains(".e") || text.contains(".E") {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(value + 0.0)
}

fn quoted(lexer: &Lexer<'_>, token: &Token<'_>) -> Result<Value, Failure> {
    let (prefix, rest) = token.text.split_once('\'').unwrap_or((token.text, ""));
    let inner = rest.strip_suffix('\'').unwrap_or(rest);
    let (edm, value) = match prefix {
        "" => return Ok(Value::String(inner.replace("''", "'"))),
        "datetime" => (EdmType::DateTime, date_time(inner).map(Value::DateTime)),
        "guid" => (EdmType::Guid, Guid::parse(inner).ok().map(Value::Guid)),
        "X" | "x" | "binary" => (EdmType::Binary, binary(inner).map(Value::Binary)),
        _ => return Err(lexer.syntax_error(token, hint::literal_prefix(prefix))),
    };
    value.ok_or_else(|| lexer.unrecognized(edm, token))
}

/// Also accepts date-times that cannot be stored, because filters only compare: clients send .NET's
/// `DateTime.MinValue`.
fn date_time(text: &str) -> Option<DateTime> {
    match DateTime::parse(text) {
        Ok(value) | Err(ParseDateTimeError::OutOfRange(value)) => Some(value),
        Err(ParseDateTimeError::Malformed) => None,
    }
}

/// Decodes hexadecimal digits, two for each byte.
fn binary(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let bytes = pairs
        .iter()
        .map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?));
    bytes.collect()
}
