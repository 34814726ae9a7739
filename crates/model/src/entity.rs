//! Entities between parsing and storage: a draft from a request, and a stored entity with its keys.

use crate::{Properties, Property, Row, Stored, StoredError, ValueRef};
use std::borrow::Cow;

/// An entity in a request: its custom properties, and the keys if the body has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityDraft {
    /// The PartitionKey of the body: any text, not yet checked by [`crate::check_key`].
    pub partition_key: Option<String>,
    /// The RowKey of the body.
    pub row_key: Option<String>,
    /// The custom properties, each within its limits.
    pub properties: Properties,
}

/// A stored entity, borrowed.
#[derive(Debug, Clone)]
pub struct Entity<'a> {
    /// Its PartitionKey.
    pub partition_key: Cow<'a, str>,
    /// Its RowKey.
    pub row_key: Cow<'a, str>,
    /// The Timestamp and custom properties.
    pub stored: Stored<'a>,
}

impl Row for Entity<'_> {
    fn property(&self, property: &Property) -> Result<Option<ValueRef<'_>>, StoredError> {
        match property {
            Property::PartitionKey => Ok(Some(ValueRef::String(&self.partition_key))),
            Property::RowKey => Ok(Some(ValueRef::String(&self.row_key))),
            Property::Timestamp => Ok(Some(ValueRef::DateTime(self.stored.timestamp()))),
            Property::Named(name) => self.stored.get(name),
        }
    }
}
