//! Changes of a row's properties: add, rename, change the type, remove.
use partita_client::{EdmType, Entity, Value};
use partita_wire::table::{push_value_text, read_value_text};
use thiserror::Error;

/// A change of a row's properties.
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyChange {
    /// Adds the property to rows that lack it.
    Add {
        /// The name of the property.
        name: String,
        /// The value for these rows.
        value: Value,
    },
    /// Renames the property, in rows that have it.
    Rename {
        /// The old name.
        from: String,
        /// The new name. A row that has properties of both names is an error.
        to: String,
    },
    /// Converts the value to another type, in rows that have the property. The value is written as text and parsed as
    /// the new type, so `"7"`, `7` and `7.0` become the same number.
    Retype {
        /// The name of the property.
        name: String,
        /// The new type.
        edm: EdmType,
    },
    /// Removes the property.
    Drop {
        /// The name of the property.
        name: String,
    },
}

/// Why a row cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// The row already has a property with the new name.
    #[error("the row has both {from} and {to}, so {from} cannot be renamed to {to}")]
    NameTaken {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// The value cannot be converted to the type.
    #[error("{name} with the value {text:?} is not a valid {}", .edm.name())]
    Value {
        /// The name of the property.
        name: String,
        /// The value, as text.
        text: String,
        /// The new type.
        edm: EdmType,
    },
}

impl PropertyChange {
    /// Changes a row.
    ///
    /// # Errors
    /// [`ChangeError`]. The row is then unchanged.
    pub fn apply(&self, row: &mut Entity) -> Result<(), ChangeError> {
        match self {
            Self::Add { name, value } => {
                if row.get(name).is_none() {
                    row.insert(name, value.clone());
                }
            }
            Self::Rename { from, to } => {
                if row.get(from).is_some() && row.get(to).is_some() {
                    return Err(ChangeError::NameTaken {
                        from: from.clone(),
                        to: to.clone(),
                    });
                }
                if let Some(value) = row.remove(from) {
                    row.insert(to, value);
                }
            }
            Self::Retype { name, edm } => {
                if let Some(value) = row.get(name) {
                    let value = retyped(name, value, *edm)?;
                    row.insert(name, value);
                }
            }
            Self::Drop { name } => {
                row.remove(name);
            }
        }
        Ok(())
    }

    /// The names of the properties that the change reads or writes.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Rename { from, to } => vec![from, to],
            Self::Add { name, .. } | Self::Retype { name, .. } | Self::Drop { name } => {
                vec![name]
            }
        }
    }
}

fn retyped(name: &str, value: &Value, edm: EdmType) -> Result<Value, ChangeError> {
    if value.edm_type() == edm {
        return Ok(value.clone());
    }
    let mut text = String::new();
    match value {
        // A whole number as a double becomes digits without a point, so that it can be parsed as an integer.
        Value::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            push_value_text(Value::Int64(*number as i64).as_ref(), &mut text);
        }
        value => push_value_text(value.as_ref(), &mut text),
    }
    read_value_text(edm, &text).map_err(|_| ChangeError::Value {
        name: name.to_owned(),
        text,
        edm,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_client::{DateTime, Guid};

    fn row(properties: &[(&str, Value)]) -> Entity {
        let mut row = Entity::new("p", "r");
        for (name, value) in properties {
            row.insert(name, value.clone());
        }
        row
    }

    #[test]
    fn properties_are_added_renamed_and_dropped() {
        let mut changed = row(&[("A", 1.into()), ("B", 2.into())]);
        for change in [
            PropertyChange::Add {
                name: "A".to_owned(),
                value: 9.into(),
            },
            PropertyChange::Add {
                name: "C".to_owned(),
                value: 3.into(),
            },
            PropertyChange::Rename {
                from: "B".to_owned(),
                to: "D".to_owned(),
            },
            PropertyChange::Rename {
                from: "B".to_owned(),
                to: "A".to_owned(),
            },
            PropertyChange::Drop {
                name: "E".to_owned(),
            },
        ] {
            change.apply(&mut changed).unwrap();
        }
        let expected = row(&[("A", 1.into()), ("C", 3.into()), ("D", 2.into())]);
        assert_eq!(changed, expected);
        let taken = PropertyChange::Rename {
            from: "A".to_owned(),
            to: "C".to_owned(),
        };
        assert!(matches!(
            taken.apply(&mut changed),
            Err(ChangeError::NameTaken { .. })
        ));
        PropertyChange::Drop {
            name: "A".to_owned(),
        }
        .apply(&mut changed)
        .unwrap();
        assert_eq!(changed.get("A"), None);
    }

    #[test]
    fn types_change_by_text() {
        for (value, edm, expected) in [
            (Value::from(7), EdmType::Int64, Some(Value::from(7_i64))),
            (Value::from("7"), EdmType::Int32, Some(Value::from(7))),
            (Value::from(7.0), EdmType::Int32, Some(Value::from(7))),
            (Value::from(7.5), EdmType::Int32, None),
            (Value::from(7.0), EdmType::String, Some(Value::from("7"))),
            (Value::from(1e300), EdmType::Int64, None),
            (Value::from(f64::INFINITY), EdmType::Int64, None),
            (Value::from(7), EdmType::Double, Some(Value::from(7.0))),
            (Value::from(i64::MAX), EdmType::Int32, None),
            (Value::from("x"), EdmType::Int32, None),
            (
                Value::from(true),
                EdmType::String,
                Some(Value::from("true")),
            ),
            (
                Value::from("true"),
                EdmType::Boolean,
                Some(Value::from(true)),
            ),
            (Value::from(1), EdmType::Boolean, None),
            (
                Value::from("1970-01-01T00:00:00Z"),
                EdmType::DateTime,
                Some(Value::from(DateTime::UNIX_EPOCH)),
            ),
            (
                Value::from("01010101-0101-0101-0101-010101010101"),
                EdmType::Guid,
                Some(Value::from(Guid([1; 16]))),
            ),
            (
                Value::from(vec![0, 1]),
                EdmType::String,
                Some(Value::from("AAE=")),
            ),
            (Value::from("x"), EdmType::String, Some(Value::from("x"))),
        ] {
            let mut changed = row(&[("A", value.clone())]);
            let change = PropertyChange::Retype {
                name: "A".to_owned(),
                edm,
            };
            let outcome = change.apply(&mut changed);
            match expected {
                Some(expected) => {
                    outcome.unwrap();
                    assert_eq!(changed.get("A"), Some(&expected), "{value:?}");
                }
                None => {
                    assert!(matches!(outcome, Err(ChangeError::Value { .. })));
                    assert_eq!(changed.get("A"), Some(&value));
                }
            }
        }
    }
}
