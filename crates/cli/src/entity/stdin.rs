//! Entities as JSON on stdin: one object, a sequence of objects, or an array of them, as `--output json` and `jsonl`
//! write them.

use crate::error::CommandError;
use partita_client::Entity;
use partita_tools::formats::explain_entity;
use serde_json::value::RawValue;
use std::io::Read;

/// Reads entities one by one.
pub(super) struct Entities<R: Read> {
    values: serde_json::StreamDeserializer<'static, serde_json::de::IoRead<R>, Box<RawValue>>,
    /// The objects of the current array that [`Self::next`] has not returned yet.
    array: std::vec::IntoIter<Box<RawValue>>,
    count: usize,
}

/// The keys of an object.
#[derive(serde::Deserialize)]
struct Keys {
    #[serde(rename = "PartitionKey")]
    partition_key: Option<String>,
    #[serde(rename = "RowKey")]
    row_key: Option<String>,
}

impl<R: Read> Entities<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            values: serde_json::Deserializer::from_reader(from).into_iter(),
            array: Vec::new().into_iter(),
            count: 0,
        }
    }

    /// The next entity. `keys` are its keys from the command line; without them the object must have both keys.
    pub(super) fn next(
        &mut self,
        keys: Option<(&str, &str)>,
    ) -> Result<Option<Entity>, CommandError> {
        let Some(raw) = self.next_value()? else {
            return Ok(None);
        };
        self.count += 1;
        let at = |what: String| {
            CommandError::usage(format!("entity {} of the input: {what}", self.count))
        };
        let entity = Entity::read(raw.get().as_bytes())
            .map_err(|error| at(explain_entity(raw.get()).unwrap_or_else(|| error.to_string())))?;
        let (partition_key, row_key) = match keys {
            Some((partition_key, row_key)) => (partition_key.to_owned(), row_key.to_owned()),
            None => {
                let keys: Keys =
                    serde_json::from_str(raw.get()).map_err(|error| at(error.to_string()))?;
                let missing = |name: &str| at(format!("{name} is missing"));
                (
                    keys.partition_key.ok_or_else(|| missing("PartitionKey"))?,
                    keys.row_key.ok_or_else(|| missing("RowKey"))?,
                )
            }
        };
        Ok(Some(entity.with_keys(partition_key, row_key)))
    }

    fn next_value(&mut self) -> Result<Option<Box<RawValue>>, CommandError> {
        loop {
            if let Some(raw) = self.array.next() {
                return Ok(Some(raw));
            }
            let Some(value) = self.values.next() else {
                return Ok(None);
            };
            let raw = value.map_err(not_read)?;
            if !raw.get().starts_with('[') {
                return Ok(Some(raw));
            }
            let array: Vec<Box<RawValue>> = serde_json::from_str(raw.get()).map_err(not_read)?;
            self.array = array.into_iter();
        }
    }
}

fn not_read(error: serde_json::Error) -> CommandError {
    match error.io_error_kind() {
        Some(_) => CommandError::Input(error.into()),
        None => CommandError::usage(format!("the input is not valid JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_client::Value;

    fn all(text: &str, keys: Option<(&str, &str)>) -> Result<Vec<Entity>, String> {
        let mut entities = Entities::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some(entity) = entities.next(keys).map_err(|error| error.chain())? {
            found.push(entity);
        }
        Ok(found)
    }

    #[test]
    fn objects_sequences_and_arrays() {
        let one = r#"{"PartitionKey":"p","RowKey":"1","odata.etag":"x","N@odata.type":"Edm.Int64","N":"7"}"#;
        let two = r#"{"PartitionKey":"p","RowKey":"2"}"#;
        for text in [
            format!("{one}\n{two}\n"),
            format!("[\n{one},\n{two}\n]\n"),
            format!("{one}[{two}]"),
        ] {
            let found = all(&text, None).unwrap();
            let keys: Vec<_> = found.iter().map(Entity::row_key).collect();
            assert_eq!(keys, ["1", "2"], "{text}");
            assert_eq!(found[0].get("N"), Some(&Value::Int64(7)));
            assert_eq!(found[0].etag(), None, "entities to write have no ETag");
        }
        assert_eq!(all("", None).unwrap(), []);
        assert_eq!(all("[]", None).unwrap(), []);
        let named = all(r#"{"N":1}"#, Some(("a", "b"))).unwrap();
        assert_eq!((named[0].partition_key(), named[0].row_key()), ("a", "b"));
    }

    #[test]
    fn errors_name_the_entity() {
        for (text, expected) in [
            (
                r#"{"PartitionKey":"p"}"#,
                "entity 1 of the input: RowKey is missing",
            ),
            ("{", "the input is not valid JSON"),
            ("5", "entity 1 of the input"),
            (
                r#"[{"PartitionKey":"p","RowKey":"r","N":[1]}]"#,
                "entity 1 of the input: property N: an array is not a value; expected a string",
            ),
        ] {
            let refused = all(text, None).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
