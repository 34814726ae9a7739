//! Reads rows and their property values from TOML.
//!
//! | TOML | property |
//! | --- | --- |
//! | `Name = "text"` | String |
//! | `Name = true` | Boolean |
//! | `Name = 7` | Int32; an error if the number does not fit into 32 bits |
//! | `Name = 7.5`, `inf`, `nan` | Double |
//! | `Name = 2026-11-21T20:15:00Z` | DateTime; an error without a UTC offset |
//! | `"Name:int64" = 7`, `"Name:guid" = "…"` | the given type, from a number, a boolean or the protocol's text |

use super::FileError;
use super::fields::{Fields, Span, integer};
use partita_bulk::type_of;
use partita_client::{DateTime, EdmType, Entity, Value};
use partita_wire::table::read_value_text;
use toml::de::DeValue;

/// Reads a row: PartitionKey, RowKey, and all other keys of the table as properties.
pub(super) fn row(fields: &Fields<'_>) -> Result<Entity, FileError> {
    let (partition_key, _) = fields.required("PartitionKey")?;
    let (row_key, _) = fields.required("RowKey")?;
    let mut row = Entity::new(partition_key, row_key);
    for (key, span, value) in fields.each() {
        if matches!(key, "PartitionKey" | "RowKey") {
            continue;
        }
        let (name, value) = property(fields, key, &span, value.get_ref(), &value.span())?;
        if row.get(&name).is_some() {
            return Err(fields.error(&span, &format!("{name} is given twice")));
        }
        row.insert(name, value);
    }
    Ok(row)
}

/// Reads a property: `Name`, or `Name:type`.
pub(super) fn property(
    fields: &Fields<'_>,
    key: &str,
    key_span: &Span,
    value: &DeValue<'_>,
    value_span: &Span,
) -> Result<(String, Value), FileError> {
    // Property names contain no colon, so a colon separates the name from the type.
    let Some((name, word)) = key.split_once(':') else {
        let value = untyped(value).map_err(|what| {
            let what = format!("{key} {what}");
            fields.error(value_span, &what)
        })?;
        return Ok((key.to_owned(), value));
    };
    let edm = of_word(word).map_err(|what| fields.error(key_span, &what))?;
    let text = text(value).ok_or_else(|| {
        let found = value.type_str();
        let what = format!("{key} cannot be read from this {found}");
        fields.error(value_span, &what)
    })?;
    let value = read_value_text(edm, &text).map_err(|_| {
        let what = format!("{name}: {text:?} is not a valid {}", edm.name());
        fields.error(value_span, &what)
    })?;
    Ok((name.to_owned(), value))
}

/// The type with this name; the error lists the known names.
pub(super) fn of_word(word: &str) -> Result<EdmType, String> {
    type_of(word).ok_or_else(|| {
        format!("unknown type {word:?}; expected string, int32, int64, double, bool, datetime, guid or binary")
    })
}

fn untyped(value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Boolean(truth) => Ok(Value::Boolean(*truth)),
        DeValue::Integer(number) => {
            let small = integer(value).and_then(|number| i32::try_from(number).ok());
            small.map(Value::Int32).ok_or_else(|| {
                format!(
                    "= {number} does not fit into an Int32; for an Int64 write \"NAME:int64\" = {number}"
                )
            })
        }
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map(Value::Double)
            .map_err(|_| "is not a number".to_owned()),
        DeValue::Datetime(_) => {
            let needs = "needs a time and a UTC offset, as in 2026-11-21T20:15:00Z";
            let text = text(value).ok_or(needs)?;
            let time = DateTime::parse(&text);
            time.map(Value::DateTime)
                .map_err(|_| "is not a timestamp between 1601 and 9999".to_owned())
        }
        DeValue::Array(_) | DeValue::Table(_) => {
            let found = value.type_str();
            Err(format!(
                "is of the type {found}, which a property cannot have"
            ))
        }
    }
}

/// The value in the protocol's text form; `None` if the protocol has no such value.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Integer(_) => integer(value).map(|number| number.to_string()),
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().ok()?;
            let mut text = String::new();
            partita_wire::table::push_value_text(Value::Double(number).as_ref(), &mut text);
            Some(text)
        }
        DeValue::Datetime(time) if time.offset.is_some() && time.time.is_some() => {
            Some(time.to_string())
        }
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
