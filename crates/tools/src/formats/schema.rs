//! The columns of a file: the properties of its rows, with their types.

use super::FormatError;
use partita_client::Entity;
use partita_model::{EdmType, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;

/// Maximum number of columns of a file. A table that uses property names for data may need more; JSON lines suit it
/// better.
pub const COLUMNS_MAX: usize = 10_000;

/// A column: a property with one type. A property with several types has several columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The property's name.
    pub property: String,
    /// The type of the values.
    #[serde(serialize_with = "type_to_text", deserialize_with = "type_from_text")]
    pub edm: EdmType,
    /// Whether at least one value is finer than a microsecond: a DateTime whose last digit is not zero.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fine: bool,
}

fn type_to_text<S: Serializer>(edm: &EdmType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(edm.name())
}

fn type_from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EdmType, D::Error> {
    let name = String::deserialize(deserializer)?;
    EdmType::from_name(&name).ok_or_else(|| serde::de::Error::custom("unknown type"))
}

/// The columns that a set of rows needs, in the order of their first rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Column>", into = "Vec<Column>")]
pub struct Schema {
    columns: Vec<Column>,
    /// For each property and type, the index of the column.
    places: HashMap<String, [Option<usize>; EdmType::ALL.len()]>,
}

impl Schema {
    /// Adds columns for the properties of a row.
    ///
    /// # Errors
    /// [`FormatError::TooManyColumns`].
    pub fn add(&mut self, entity: &Entity) -> Result<(), FormatError> {
        for (name, value) in entity.iter() {
            self.insert(name, value.edm_type(), is_fine(value))?;
        }
        Ok(())
    }

    /// The columns of several sets of rows. Beyond [`COLUMNS_MAX`], only the first columns are kept.
    pub(crate) fn merged(columns: impl IntoIterator<Item = Column>) -> Self {
        let mut merged = Self::default();
        for column in columns {
            // The error says that there are too many columns.
            let _ = merged.insert(&column.property, column.edm, column.fine);
        }
        merged
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The index of the column for a property and a type.
    pub fn index(&self, property: &str, edm: EdmType) -> Option<usize> {
        self.places
            .get(property)
            .and_then(|places| places[edm as usize])
    }

    /// The names of the properties, each once, in the order of their first rows.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        let firsts = self.columns.iter().enumerate();
        let firsts = firsts.filter(|(at, column)| self.is_first(*at, column));
        firsts.map(|(_, column)| &*column.property)
    }

    /// Whether `column`, which has the index `at`, is the first column of its property.
    pub(super) fn is_first(&self, at: usize, column: &Column) -> bool {
        let places = self.places.get(&column.property);
        places.and_then(|places| places.iter().flatten().min()) == Some(&at)
    }

    fn insert(&mut self, property: &str, edm: EdmType, fine: bool) -> Result<(), FormatError> {
        if let Some(at) = self.index(property, edm) {
            self.columns[at].fine |= fine;
            return Ok(());
        }
        if self.columns.len() == COLUMNS_MAX {
            return Err(FormatError::TooManyColumns);
        }
        let places = self.places.entry(property.to_owned()).or_default();
        places[edm as usize] = Some(self.columns.len());
        self.columns.push(Column {
            property: property.to_owned(),
            edm,
            fine,
        });
        Ok(())
    }
}

fn is_fine(value: &Value) -> bool {
    matches!(value, Value::DateTime(time) if !time.ticks().is_multiple_of(10))
}

impl From<Schema> for Vec<Column> {
    fn from(schema: Schema) -> Self {
        schema.columns
    }
}

impl TryFrom<Vec<Column>> for Schema {
    type Error = FormatError;

    /// Creates a schema from columns. Of columns with the same property and type, only the first is kept.
    fn try_from(columns: Vec<Column>) -> Result<Self, FormatError> {
        let mut schema = Self::default();
        for column in columns {
            schema.insert(&column.property, column.edm, column.fine)?;
        }
        Ok(schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::DateTime;

    fn schema() -> Schema {
        let mut schema = Schema::default();
        let mut entity = Entity::new("p", "r");
        entity.insert("a", 1).insert("t", DateTime::MIN);
        schema.add(&entity).unwrap();
        entity
            .insert("a", 1_i64)
            .insert("b", "")
            .insert("t", DateTime::MAX);
        schema.add(&entity).unwrap();
        schema
    }

    #[test]
    fn columns_come_in_the_order_of_their_first_rows() {
        let schema = schema();
        let properties: Vec<_> = schema.properties().collect();
        assert_eq!(properties, ["a", "t", "b"]);
        assert_eq!(schema.index("a", EdmType::Int64), Some(2));
        assert_eq!(schema.index("a", EdmType::String), None);
        assert!(schema.columns()[1].fine);
    }

    #[test]
    fn the_stored_form_is_stable() {
        let text = serde_json::to_string(&schema()).unwrap();
        let expected = r#"[{"property":"a","edm":"Edm.Int32"},{"property":"t","edm":"Edm.DateTime","fine":true},{"property":"a","edm":"Edm.Int64"},{"property":"b","edm":"Edm.String"}]"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema());
    }

    #[test]
    fn a_schema_has_at_most_columns_max_columns() {
        let mut entity = Entity::new("p", "r");
        let mut schema = Schema::default();
        for at in 0..COLUMNS_MAX {
            schema
                .insert(&format!("p{at}"), EdmType::Int32, false)
                .unwrap();
        }
        entity.insert("p0", 1);
        schema.add(&entity).unwrap();
        entity.insert("p0", 1_i64);
        assert!(matches!(
            schema.add(&entity),
            Err(FormatError::TooManyColumns)
        ));
    }
}
