//! Templates that build keys from a row's properties.

use partita_client::{Entity, ValueRef};
use partita_wire::table::push_value_text;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Maximum number of digits to which a placeholder pads.
const WIDTH_MAX: usize = 64;

/// A text with placeholders for PartitionKey, RowKey or a property: `{Country}-{RowKey}`. `{Age:6}` pads an integer
/// with zeros to six digits. `{{` and `}}` are literal braces.
///
/// Placeholders are filled with the row's values before the transform changes them.
///
/// ```
/// use partita_client::Entity;
/// use partita_bulk::Template;
///
/// let template: Template = "{Country}-{Year:6}".parse()?;
/// let mut row = Entity::new("p", "r");
/// row.insert("Country", "IE").insert("Year", 1865);
/// assert_eq!(template.of(&row)?, "IE-001865");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Property { name: String, width: Option<usize> },
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidTemplate {
    /// A brace is unmatched.
    #[error("unmatched brace; write {{{{ or }}}} for a literal brace")]
    Brace,
    /// The text in braces is not a property name, optionally with a colon and a number of digits.
    #[error(
        "invalid placeholder {{{0}}}: write a property name, or a name and a number of digits as in {{Age:6}}"
    )]
    Place(String),
}

/// Why a row cannot fill the template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// The row lacks the property.
    #[error("the row has no property {0}")]
    Missing(String),
    /// The template pads the property with zeros, but its value is not an integer of 0 or more.
    #[error("property {0} is not an integer of 0 or more, so it cannot be padded with zeros")]
    NotAnInteger(String),
}

impl Template {
    /// Fills the template with the properties of a row.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn of(&self, row: &Entity) -> Result<String, TemplateError> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Property { name, width } => fill(row, name, *width, &mut text)?,
            }
        }
        Ok(text)
    }
}

fn fill(
    row: &Entity,
    name: &str,
    width: Option<usize>,
    out: &mut String,
) -> Result<(), TemplateError> {
    let value = match name {
        "PartitionKey" => ValueRef::String(row.partition_key()),
        "RowKey" => ValueRef::String(row.row_key()),
        name => {
            let value = row.get(name);
            value
                .ok_or_else(|| TemplateError::Missing(name.to_owned()))?
                .as_ref()
        }
    };
    let Some(width) = width else {
        push_value_text(value, out);
        return Ok(());
    };
    let number = match value {
        ValueRef::Int32(number) => i64::from(number),
        ValueRef::Int64(number) => number,
        _ => -1,
    };
    if number < 0 {
        return Err(TemplateError::NotAnInteger(name.to_owned()));
    }
    out.push_str(&format!("{number:0width$}"));
    Ok(())
}

impl FromStr for Template {
    type Err = InvalidTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidTemplate> {
        let (mut pieces, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, behind) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = behind.strip_prefix("{{").or(behind.strip_prefix("}}")) {
                plain.push_str(behind.get(..1).unwrap_or_default());
                rest = after;
                continue;
            }
            let place = behind.strip_prefix('{').and_then(|it| it.split_once('}'));
            let (place, after) = place.ok_or(InvalidTemplate::Brace)?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(property(place)?);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }
}

fn property(place: &str) -> Result<Piece, InvalidTemplate> {
    let invalid = || InvalidTemplate::Place(place.to_owned());
    let (name, width) = match place.split_once(':') {
        None => (place, None),
        Some((name, width)) => {
            let width = width.parse().map_err(|_| invalid())?;
            (name, Some(width))
        }
    };
    partita_model::check_property_name(name).map_err(|_| invalid())?;
    if width.is_some_and(|width| !(1..=WIDTH_MAX).contains(&width)) {
        return Err(invalid());
    }
    Ok(Piece::Property {
        name: name.to_owned(),
        width,
    })
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}"))?,
                Piece::Property { name, width } => {
                    let width = width.map_or(String::new(), |width| format!(":{width}"));
                    write!(f, "{{{name}{width}}}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn placeholders_are_filled() {
        let mut row = Entity::new("p", "r");
        row.insert("A", 7).insert("B", -7_i64).insert("C", 1.5);
        let of = |template: &str| template.parse::<Template>().unwrap().of(&row);
        assert_eq!(of("").unwrap(), "");
        assert_eq!(of("{RowKey}{{{PartitionKey}}}").unwrap(), "r{p}");
        assert_eq!(of("{A}:{A:3}:{A:1}").unwrap(), "7:007:7");
        assert_eq!(of("{B} {C}").unwrap(), "-7 1.5");
        assert_eq!(of("{D}"), Err(TemplateError::Missing("D".to_owned())));
        for name in ["B", "C", "RowKey"] {
            let refused = of(&format!("{{{name}:3}}"));
            assert_eq!(refused, Err(TemplateError::NotAnInteger(name.to_owned())));
        }
    }

    #[test]
    fn invalid_templates_are_refused() {
        for text in ["{", "a}", "{{}"] {
            assert_eq!(
                text.parse::<Template>(),
                Err(InvalidTemplate::Brace),
                "{text}"
            );
        }
        for place in ["", "a b", "A:", "A:0", "A:65", "A:x"] {
            let parsed = format!("{{{place}}}").parse::<Template>();
            assert_eq!(parsed, Err(InvalidTemplate::Place(place.to_owned())));
        }
    }

    proptest! {
        #[test]
        fn a_displayed_template_is_parsed_again(text in "([a{}]|\\{A(:[0-9])?\\})*") {
            if let Ok(template) = text.parse::<Template>() {
                prop_assert_eq!(template.to_string().parse(), Ok(template));
            }
        }
    }
}
