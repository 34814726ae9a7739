//! Rows to write: an entity, a row of a scan, or the fields of a command.

use crate::error::{Because as _, CommandError};
use crate::units::{bytes, count, latency, rate};
use partita_client::{Entity, ValueRef};
use partita_tools::scan::Keyed as _;
use partita_tools::source::TableRow;

/// A row to write.
pub(crate) enum OutputRow<'a> {
    /// An entity, with or without its ETag.
    Entity { entity: &'a Entity, etag: bool },
    /// A row of a scan, with or without its ETag.
    Scanned { row: &'a TableRow, etag: bool },
    /// Named fields, whose types are not shown.
    Record(&'a [(&'a str, Field<'a>)]),
}

/// A value of a row. A table shows counts with separators, bytes and latencies with their units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    /// A value that every format shows alike.
    Plain(ValueRef<'a>),
    /// A number of things.
    Count(u64),
    /// A number of bytes.
    Bytes(u64),
    /// An estimated number of bytes.
    AboutBytes(u64),
    /// A number of processor cores.
    Cores(f64),
    /// A number of things a second.
    Rate(f64),
    /// A number of bytes a second.
    ByteRate(f64),
    /// A latency in microseconds.
    Latency(u64),
}

impl<'a> Field<'a> {
    /// A text.
    pub(crate) fn text(text: &'a str) -> Self {
        Self::Plain(ValueRef::String(text))
    }

    /// A number of things, which a table shows with thousands separators.
    pub(crate) fn count(count: u64) -> Self {
        Self::Count(count)
    }

    /// A number that names something, such as a range.
    pub(crate) fn id(id: u64) -> Self {
        Self::Plain(number(id))
    }

    /// A fraction.
    pub(crate) fn double(value: f64) -> Self {
        Self::Plain(ValueRef::Double(value))
    }

    /// A fraction, rounded to a tenth.
    pub(crate) fn tenths(value: f64) -> Self {
        Self::double(tenths(value))
    }

    /// The value for programs.
    fn plain(self) -> ValueRef<'a> {
        match self {
            Self::Plain(value) => value,
            Self::Rate(value) | Self::ByteRate(value) => ValueRef::Double(tenths(value)),
            Self::Cores(value) => ValueRef::Double(value),
            Self::Count(measure)
            | Self::Bytes(measure)
            | Self::AboutBytes(measure)
            | Self::Latency(measure) => number(measure),
        }
    }

    /// The text for a table, where it differs from the value.
    pub(super) fn with_unit(self) -> Option<String> {
        match self {
            Self::Plain(_) => None,
            Self::Count(number) => Some(count(number)),
            Self::Bytes(number) => Some(bytes(number)),
            Self::AboutBytes(number) => Some(format!("~{}", bytes(number))),
            Self::Cores(value) => Some(format!("{value:.2}")),
            Self::Rate(value) => Some(format!("{}/s", rate(value))),
            Self::ByteRate(value) => Some(format!("{}/s", bytes(value.round() as u64))),
            Self::Latency(us) => Some(latency(us)),
        }
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn number(number: u64) -> ValueRef<'static> {
    ValueRef::Int64(i64::try_from(number).unwrap_or(i64::MAX))
}

impl OutputRow<'_> {
    /// Whether the row is an entity. Only values of entities have types.
    pub(super) fn is_entity(&self) -> bool {
        !matches!(self, Self::Record(_))
    }

    /// Calls `take` for each name and value in this order: keys, Timestamp, ETag, properties.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(&str, ValueRef<'_>),
    ) -> Result<(), CommandError> {
        match self {
            Self::Record(fields) => {
                for (name, field) in *fields {
                    take(name, field.plain());
                }
            }
            Self::Entity { entity, etag } => {
                take("PartitionKey", ValueRef::String(entity.partition_key()));
                take("RowKey", ValueRef::String(entity.row_key()));
                if let Some(time) = entity.timestamp() {
                    take("Timestamp", ValueRef::DateTime(time));
                }
                if let Some(version) = entity.etag().filter(|_| *etag) {
                    take("odata.etag", ValueRef::String(version.as_str()));
                }
                for (name, value) in entity.iter() {
                    take(name, value.as_ref());
                }
            }
            Self::Scanned { row, etag } => {
                take("PartitionKey", ValueRef::String(row.partition_key()));
                take("RowKey", ValueRef::String(row.row_key()));
                let read = row.read(|row| {
                    if let Some(time) = row.timestamp()? {
                        take("Timestamp", ValueRef::DateTime(time));
                    }
                    if let Some(version) = row.etag()?.filter(|_| *etag) {
                        take("odata.etag", ValueRef::String(&version));
                    }
                    row.properties(|_, name, value| take(name, value))
                });
                read.because("cannot read a row")?;
            }
        }
        Ok(())
    }
}
