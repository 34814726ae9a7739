//! What can be shown: entities, rows of a scan, and records of a verb's own.

use crate::error::Failure;
use partita_client::{Entity, ValueRef};
use partita_tools::scan::Keyed as _;
use partita_tools::source::TableRow;

/// A row to write.
pub(crate) enum Shown<'a> {
    /// An entity, maybe with its ETag.
    Entity { entity: &'a Entity, etag: bool },
    /// A row of a scan, maybe with its ETag.
    Row { row: &'a TableRow, etag: bool },
    /// Fields of something that is no entity.
    Record(&'a [(&'a str, ValueRef<'a>)]),
}

impl Shown<'_> {
    /// Whether it is an entity, whose values have types.
    pub(crate) fn is_entity(&self) -> bool {
        !matches!(self, Self::Record(_))
    }

    /// Hands out names and values in their order: keys, Timestamp, ETag, properties.
    pub(crate) fn each(&self, mut take: impl FnMut(&str, ValueRef<'_>)) -> Result<(), Failure> {
        match self {
            Self::Record(fields) => {
                for (name, value) in *fields {
                    take(name, *value);
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
            Self::Row { row, etag } => {
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
                read.map_err(Failure::row)?;
            }
        }
        Ok(())
    }
}
