//! Explains why the JSON of an entity is refused: the place in the text, the property, and what is allowed.
//!
//! The reader of `partita-wire` is fast and reports errors as the service does, without a place. So a refused text is
//! read again here: by `serde_json` for its syntax, then property by property with the reader of `partita-wire`, which
//! decides what is valid.

use super::super::expected::{invalid_value, shortened, unknown_type};
use super::entity::entity;
use partita_model::EdmType;
use partita_wire::Failure;
use partita_wire::table::read_row;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

const TYPE_SUFFIX: &str = "@odata.type";
/// What is allowed as a value without a type.
const VALUES: &str = "expected a string, a number, true, false or null";

/// Explains why the JSON of an entity is refused: which property is invalid, and what is allowed. `None` if each property
/// is valid by itself. The keys may be missing.
pub fn explain_entity(json: &str) -> Option<String> {
    match serde_json::from_str::<Members<'_>>(json) {
        Ok(members) => members.invalid().map(|(_, what)| what),
        Err(error) => Some(syntax(json, json, &error).1),
    }
}

/// The offset of the error in the text, and what is wrong.
pub(super) fn explain(body: &[u8], failure: &Failure) -> (usize, String) {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => return (error.valid_up_to(), "not valid UTF-8".to_owned()),
    };
    let json = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if json.starts_with('[') {
        let what = "an array instead of an entity; --format json reads an array of entities";
        return (text.len() - json.len(), what.to_owned());
    }
    let members: Members<'_> = match serde_json::from_str(json) {
        Ok(members) => members,
        Err(error) => return syntax(text, json, &error),
    };
    if let Some((value, what)) = members.invalid() {
        return (offset(text, value), what);
    }
    let what = members.missing_key();
    let what = what.unwrap_or_else(|| failure.text().to_owned());
    (text.len() - json.len(), what)
}

/// The place and the message of a syntax error, whose line and column count from the start of `json`.
fn syntax(text: &str, json: &str, error: &serde_json::Error) -> (usize, String) {
    let lines = json
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let before: usize = lines.map(str::len).sum();
    let at = text.len() - json.len() + before + error.column().saturating_sub(1);
    let message = error.to_string();
    // The place is not repeated in the message.
    let what = match message.rsplit_once(" at line ") {
        Some((what, _)) => what.to_owned(),
        None => message,
    };
    (at, format!("not valid JSON: {what}"))
}

/// The offset of a part of a text.
fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// The members of an object: names, and the text of their values.
struct Members<'a>(Vec<(String, &'a str)>);

impl<'a> Members<'a> {
    fn missing_key(&self) -> Option<String> {
        let is_missing = |key: &&str| self.0.iter().all(|(name, _)| name != key);
        let missing = ["PartitionKey", "RowKey"].into_iter().find(is_missing);
        missing.map(|key| format!("{key} is missing"))
    }

    /// The first value that is not valid, and what is wrong with it.
    fn invalid(&self) -> Option<(&'a str, String)> {
        self.0.iter().find_map(|(name, value)| {
            let is_key = matches!(&**name, "PartitionKey" | "RowKey");
            let what = match name.strip_suffix(TYPE_SUFFIX) {
                Some("" | "Timestamp") => None,
                Some(property) => {
                    annotation_error(value).map(|what| format!("property {property}: {what}"))
                }
                None if is_key && value.starts_with('"') => None,
                None if is_key => Some(format!("{name} must be a string")),
                None => {
                    let what = self.value_error(name, value);
                    what.map(|what| format!("property {name}: {what}"))
                }
            };
            what.map(|what| (*value, what))
        })
    }

    /// Why a property with this value and its annotation is refused; `None` if it is not.
    fn value_error(&self, name: &str, value: &str) -> Option<String> {
        let annotation = self.0.iter().find(|(other, _)| {
            let property = other.strip_suffix(TYPE_SUFFIX);
            property.is_some_and(|property| property == name)
        });
        if annotation.is_some_and(|(_, edm)| annotation_error(edm).is_some()) {
            return None;
        }
        let edm = annotation.and_then(|(_, edm)| text_of(edm));
        let mut alone = r#"{"PartitionKey":"","RowKey":"""#.to_owned();
        for (name, value) in annotation
            .map(|(name, value)| (&**name, *value))
            .into_iter()
            .chain([(name, value)])
        {
            let name = serde_json::Value::from(name);
            alone.push_str(&format!(",{name}:{value}"));
        }
        alone.push('}');
        read_row(alone.as_bytes(), entity).err()?;
        let kind = match value.as_bytes().first() {
            Some(b'[') => return Some(format!("an array is not a value; {VALUES}")),
            Some(b'{') => return Some(format!("an object is not a value; {VALUES}")),
            _ if name == "Timestamp" => Some(EdmType::DateTime),
            _ => edm.as_deref().and_then(EdmType::from_name),
        };
        let text = text_of(value).unwrap_or_else(|| value.to_owned());
        Some(match kind {
            Some(edm) => invalid_value(&text, edm),
            None => format!("{} is not a valid value; {VALUES}", shortened(&text)),
        })
    }
}

/// Why the value of a type annotation is refused; `None` if it is not.
fn annotation_error(value: &str) -> Option<String> {
    let name = text_of(value).unwrap_or_else(|| value.to_owned());
    match EdmType::from_name(&name) {
        Some(_) => None,
        None => Some(unknown_type(&name)),
    }
}

/// The text of a JSON string.
fn text_of(value: &str) -> Option<String> {
    serde_json::from_str(value).ok()
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object with the properties of an entity")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &'de str)> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let value: &RawValue = map.next_value()?;
                    members.push((name, value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
