//! Finds out what each column of a Parquet file contains, for files of Partita and for flat files of other programs.

use super::super::FormatError;
use super::DIGIT_SUFFIX;
use parquet::basic::{
    ConvertedType as Converted, IntType, LogicalType as Logical, TimeUnit, Type as Physical,
};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::sync::Arc;

/// The part of an entity that a column contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    PartitionKey,
    RowKey,
    Timestamp,
    /// The last digit of the Timestamp: its units of 100 ns.
    TimestampDigit,
    /// A property.
    Property(Arc<str>),
    /// The last digits of this property's DateTimes: their units of 100 ns.
    Digit(Arc<str>),
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    String,
    Binary,
    Boolean,
    /// A time since 1970 in fractions of a second: 1,000, 1,000,000 or 1,000,000,000 per second.
    Time(i64),
    Int32,
    Int64,
    Double,
    Guid,
}

/// What a column contains: the part of the entity, and the type of its values.
#[derive(Debug)]
pub(super) struct Meaning {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) kind: Kind,
    /// The definition level of a present value: 1 in an optional column, 0 in a required one.
    pub(super) level: i16,
}

/// The meaning of each column, from the schema of the file.
pub(super) fn meanings(schema: &SchemaDescriptor) -> Result<Vec<Meaning>, FormatError> {
    let meanings: Vec<_> = schema
        .columns()
        .iter()
        .map(|column| meaning(column))
        .collect::<Result<_, _>>()?;
    for (role, name) in [
        (Role::PartitionKey, "PartitionKey"),
        (Role::RowKey, "RowKey"),
    ] {
        let is_key = |meaning: &&Meaning| meaning.role == role && meaning.kind == Kind::String;
        if meanings.iter().filter(is_key).count() != 1 {
            return Err(FormatError::File(format!("missing string column {name}")));
        }
    }
    Ok(meanings)
}

fn meaning(column: &ColumnDescriptor) -> Result<Meaning, FormatError> {
    let name = column.path().string();
    let unfit = |what: &str| FormatError::File(format!("the column {name} {what}"));
    if column.path().parts().len() > 1 || column.max_rep_level() > 0 || column.max_def_level() > 1 {
        return Err(unfit("is nested or repeated"));
    }
    let kind = kind(column).ok_or_else(|| unfit("has a type that tables do not support"))?;
    let role = role(&name);
    let is_fit = match role {
        Role::Timestamp => matches!(kind, Kind::Time(_)),
        Role::TimestampDigit | Role::Digit(_) => kind == Kind::Int32,
        Role::PartitionKey | Role::RowKey | Role::Property(_) => true,
    };
    if !is_fit {
        return Err(unfit("has a type that does not fit its name"));
    }
    Ok(Meaning {
        role,
        kind,
        level: column.max_def_level(),
        name,
    })
}

fn role(name: &str) -> Role {
    // Property names contain no `@`; the part after it is the type.
    let property = |name: &str| Arc::from(name.split('@').next().unwrap_or_default());
    match name {
        "PartitionKey" => Role::PartitionKey,
        "RowKey" => Role::RowKey,
        "Timestamp" => Role::Timestamp,
        name => match name.strip_suffix(DIGIT_SUFFIX) {
            Some("Timestamp") => Role::TimestampDigit,
            Some(name) => Role::Digit(property(name)),
            None => Role::Property(property(name)),
        },
    }
}

fn kind(column: &ColumnDescriptor) -> Option<Kind> {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    Some(match (column.physical_type(), logical, converted) {
        (Physical::BOOLEAN, None, Converted::NONE) => Kind::Boolean,
        (Physical::FLOAT | Physical::DOUBLE, None, Converted::NONE) => Kind::Double,
        (Physical::INT32, None, Converted::NONE) => Kind::Int32,
        (Physical::INT32, Some(Logical::Integer(int)), _) if fits_32(int) => Kind::Int32,
        (Physical::INT64, None, Converted::NONE) => Kind::Int64,
        (Physical::INT64, Some(Logical::Integer(int)), _) if int.is_signed => Kind::Int64,
        (Physical::INT64, Some(Logical::Timestamp(time)), _) => Kind::Time(match time.unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        }),
        (Physical::INT64, None, Converted::TIMESTAMP_MILLIS) => Kind::Time(1_000),
        (Physical::INT64, None, Converted::TIMESTAMP_MICROS) => Kind::Time(1_000_000),
        (Physical::BYTE_ARRAY, Some(Logical::String | Logical::Enum | Logical::Json), _)
        | (Physical::BYTE_ARRAY, None, Converted::UTF8 | Converted::ENUM | Converted::JSON) => {
            Kind::String
        }
        (Physical::BYTE_ARRAY, None, Converted::NONE) => Kind::Binary,
        (Physical::FIXED_LEN_BYTE_ARRAY, Some(Logical::Uuid), _) => Kind::Guid,
        (Physical::FIXED_LEN_BYTE_ARRAY, None, Converted::NONE) => Kind::Binary,
        _ => return None,
    })
}

fn fits_32(int: &IntType) -> bool {
    int.is_signed || int.bit_width < 32
}
