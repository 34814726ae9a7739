//! A stored row in its encoded form.

use crate::Error;
use bytes::Bytes;
use partita_model::{ETag, Entity, Stored, TableSpace};

/// A stored entity, whose bytes are shared with the cache and the engine. Keys and properties are decoded on access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowData {
    /// The key in the key space.
    pub key: Bytes,
    /// Its stored form.
    pub value: Bytes,
}

impl RowData {
    /// Borrows the entity.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when key or value cannot be read.
    pub fn entity(&self, space: &TableSpace) -> Result<Entity<'_>, Error> {
        let (partition_key, row_key) = space.decode(&self.key)?;
        Ok(Entity {
            partition_key,
            row_key,
            stored: Stored::open(&self.value)?,
        })
    }

    /// The version of the entity.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn etag(&self) -> Result<ETag, Error> {
        Ok(Stored::open(&self.value)?.etag())
    }
}
