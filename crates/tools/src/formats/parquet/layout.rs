//! The columns of a Parquet file that is written with a given [`Schema`].

use super::super::{Column, Schema, Style};
use super::DIGIT_SUFFIX;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use partita_model::EdmType;
use std::sync::Arc;

/// Where the columns of a property are in the file, as indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PropertyColumns {
    /// The column with the values.
    pub(super) value: usize,
    /// The column with the last digits (100 ns) of DateTimes, if one is needed.
    pub(super) digit: Option<usize>,
}

/// The columns of a file that is written.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) root: TypePtr,
    /// The number of columns in the file.
    pub(super) columns: usize,
    /// The columns of Timestamp, unless it is left out.
    pub(super) timestamp: Option<PropertyColumns>,
    /// For each column of the schema, its columns in the file.
    pub(super) property_columns: Vec<PropertyColumns>,
}

impl Layout {
    pub(super) fn new(schema: &Schema, style: Style) -> Result<Self, ParquetError> {
        let mut fields = vec![
            primitive("PartitionKey", EdmType::String, false)?,
            primitive("RowKey", EdmType::String, false)?,
        ];
        let mut push = |name: &str, edm: EdmType, has_digit: bool| {
            let value = fields.len();
            fields.push(primitive(name, edm, true)?);
            let mut columns = PropertyColumns { value, digit: None };
            if has_digit && !style.plain {
                columns.digit = Some(fields.len());
                let name = format!("{name}{DIGIT_SUFFIX}");
                fields.push(primitive(&name, EdmType::Int32, true)?);
            }
            Ok::<_, ParquetError>(columns)
        };
        let timestamp = if style.no_timestamp {
            None
        } else {
            Some(push("Timestamp", EdmType::DateTime, true)?)
        };
        let mut property_columns = Vec::new();
        for (at, column) in schema.columns().iter().enumerate() {
            let name = name_of(schema, at, column);
            property_columns.push(push(&name, column.edm, column.fine)?);
        }
        let columns = fields.len();
        let root = Type::group_type_builder("entity").with_fields(fields);
        Ok(Self {
            root: Arc::new(root.build()?),
            columns,
            timestamp,
            property_columns,
        })
    }
}

fn name_of(schema: &Schema, at: usize, column: &Column) -> String {
    let Column { property, edm, .. } = column;
    if schema.is_first(at, column) {
        property.clone()
    } else {
        format!("{property}@{}", edm.name())
    }
}

fn primitive(name: &str, edm: EdmType, optional: bool) -> Result<TypePtr, ParquetError> {
    let (physical, logical, length) = match edm {
        EdmType::String => (Physical::BYTE_ARRAY, Some(LogicalType::String), -1),
        EdmType::Binary => (Physical::BYTE_ARRAY, None, -1),
        EdmType::Boolean => (Physical::BOOLEAN, None, -1),
        EdmType::Int32 => (Physical::INT32, None, -1),
        EdmType::Int64 => (Physical::INT64, None, -1),
        EdmType::Double => (Physical::DOUBLE, None, -1),
        EdmType::DateTime => {
            let micros = LogicalType::timestamp(true, TimeUnit::MICROS);
            (Physical::INT64, Some(micros), -1)
        }
        EdmType::Guid => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid), 16),
    };
    let repetition = if optional {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let built = Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_length(length)
        .with_repetition(repetition)
        .build()?;
    Ok(Arc::new(built))
}
