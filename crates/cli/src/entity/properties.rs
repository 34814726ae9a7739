//! Properties on a command line: `Name=value` is a String, `Name:type=value` has that type. Types are never guessed.

use crate::error::CommandError;
use partita_client::{EdmType, Entity};
use partita_model::check_property_name;
use partita_tools::type_of;
use partita_wire::table::read_value_text;

/// The help text of a property.
pub(super) const HELP: &str = "Name=value for a String; Name:type=value with int32, int64, double, bool, datetime, guid, binary (Base64) or string";

/// Sets the property that an argument gives.
pub(super) fn set(word: &str, entity: &mut Entity) -> Result<(), CommandError> {
    let (name, text) = word.split_once('=').ok_or_else(|| {
        CommandError::usage(format!("{word:?} is not a property: expected Name=value"))
    })?;
    // A property name contains no colon, so a colon before the "=" separates name and type.
    let (name, edm) = match name.split_once(':') {
        None => (name, EdmType::String),
        Some((name, short)) => {
            let edm = type_of(short);
            let edm =
                edm.ok_or_else(|| CommandError::usage(format!("{short:?} is not a type: {HELP}")))?;
            (name, edm)
        }
    };
    if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
        let message = format!("{name} cannot be set as a property");
        return Err(CommandError::usage(message));
    }
    if check_property_name(name).is_err() {
        let message = format!("{name:?} is not a valid property name");
        return Err(CommandError::usage(message));
    }
    if entity.get(name).is_some() {
        return Err(CommandError::usage(format!(
            "property {name} is given twice"
        )));
    }
    let value = read_value_text(edm, text).map_err(|_| {
        let of_type = edm.name();
        CommandError::usage(format!(
            "property {name}: {text:?} is not a valid {of_type}"
        ))
    })?;
    entity.insert(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_client::{DateTime, Guid, Value};

    fn value(word: &str) -> Result<Value, String> {
        let mut entity = Entity::new("", "");
        set(word, &mut entity).map_err(|error| error.chain())?;
        Ok(entity.get("N").cloned().unwrap())
    }

    #[test]
    fn types_are_exact() {
        for (word, expected) in [
            ("N=5", Value::from("5")),
            ("N=", Value::from("")),
            ("N=a=b:c", Value::from("a=b:c")),
            ("N:string=x", Value::from("x")),
            ("N:int=5", Value::from(5)),
            ("N:Int32=-5", Value::from(-5)),
            ("N:int64=5", Value::from(5_i64)),
            ("N:Edm.Int64=5", Value::from(5_i64)),
            ("N:double=5", Value::from(5.0)),
            ("N:double=Infinity", Value::from(f64::INFINITY)),
            ("N:bool=true", Value::from(true)),
            ("N:binary=AAE=", Value::from(vec![0, 1])),
            (
                "N:datetime=1970-01-01T00:00:00Z",
                Value::from(DateTime::UNIX_EPOCH),
            ),
            (
                "N:guid=01010101-0101-0101-0101-010101010101",
                Value::from(Guid([1; 16])),
            ),
        ] {
            assert_eq!(value(word).unwrap(), expected, "{word}");
        }
    }

    #[test]
    fn invalid_properties_are_refused() {
        for (word, expected) in [
            ("N", "is not a property"),
            ("N:int=x", "\"x\" is not a valid Edm.Int32"),
            ("N:int=4000000000", "is not a valid Edm.Int32"),
            ("N:bool=1", "is not a valid Edm.Boolean"),
            (
                "N:datetime=1500-01-01T00:00:00Z",
                "is not a valid Edm.DateTime",
            ),
            ("N:float=1", "\"float\" is not a type"),
            ("a-b=1", "is not a valid property name"),
            ("RowKey=1", "cannot be set"),
        ] {
            let refused = value(word).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
        let mut entity = Entity::new("", "");
        set("N=1", &mut entity).unwrap();
        assert!(set("N=1", &mut entity).is_err());
    }
}
