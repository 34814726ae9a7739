//! A change of an entity: pure functions from the current row to the next.

use super::delete_entity::require_present;
use super::insert_entity::require_absent;
use super::update_entity::require;
use crate::{Error, KeyName};
use bytes::Bytes;
use partita_model::limits::{ENTITY_BYTES_MAX, LimitError};
use partita_model::{DateTime, ETag, InvalidKey, Properties, Stored, check_key};

/// The effect of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// Creates an entity: Insert Entity. Its condition is ignored.
    Insert(Properties),
    /// Replaces all properties: Update Entity with a condition, Insert Or Replace Entity without.
    Replace(Properties),
    /// Sets the given properties and keeps the others: Merge Entity with a condition, Insert Or Merge Entity without.
    Merge(Properties),
    /// Deletes the entity: Delete Entity.
    Delete,
}

/// What the current entity must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Anything, or absent (no `If-Match`).
    None,
    /// Present (`If-Match: *`).
    Exists,
    /// Present in this version.
    Version(ETag),
    /// Present in a version that no entity has: an ETag that Partita does not write.
    NoVersion,
}

/// A change of one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its PartitionKey.
    pub partition_key: String,
    /// Its RowKey.
    pub row_key: String,
    /// Its effect.
    pub kind: ChangeKind,
    /// Its condition.
    pub condition: Condition,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The entity's key in the key space.
    pub key: Bytes,
    /// The entity's stored form; `None` when it was deleted.
    pub value: Option<Bytes>,
    /// Its new version; `None` when it was deleted.
    pub etag: Option<ETag>,
}

impl Change {
    /// Checks what does not depend on the current entity.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let may_create = match &self.kind {
            ChangeKind::Insert(_) => true,
            ChangeKind::Replace(_) | ChangeKind::Merge(_) => self.condition == Condition::None,
            ChangeKind::Delete => false,
        };
        // No entity has a key that cannot be stored: changes of an existing entity will not find it.
        if may_create {
            self.check_key(KeyName::PartitionKey, &self.partition_key)?;
            self.check_key(KeyName::RowKey, &self.row_key)?;
        }
        match &self.kind {
            ChangeKind::Insert(properties)
            | ChangeKind::Replace(properties)
            | ChangeKind::Merge(properties) => self.check_size(properties),
            ChangeKind::Delete => Ok(()),
        }
    }

    fn check_key(&self, key: KeyName, value: &str) -> Result<(), Error> {
        check_key(value).map_err(|error| match error {
            InvalidKey::Characters => Error::KeyCharacters {
                key,
                value: value.to_owned(),
            },
            InvalidKey::TooLong => Error::KeyTooLong(key),
        })
    }

    /// The size of the change, as the service counts sizes of entities; for a merge and a delete that of the request.
    pub(crate) fn bytes(&self) -> usize {
        match &self.kind {
            ChangeKind::Insert(properties)
            | ChangeKind::Replace(properties)
            | ChangeKind::Merge(properties) => {
                properties.entity_bytes(&self.partition_key, &self.row_key)
            }
            ChangeKind::Delete => self.partition_key.len() + self.row_key.len(),
        }
    }

    fn check_size(&self, properties: &Properties) -> Result<(), Error> {
        if properties.entity_bytes(&self.partition_key, &self.row_key) > ENTITY_BYTES_MAX {
            return Err(LimitError::EntityTooLarge.into());
        }
        Ok(())
    }

    /// The entity after the change, at a time. Its Timestamp is later than the current one.
    pub(crate) fn apply(
        self,
        key: &Bytes,
        current: Option<&[u8]>,
        now: DateTime,
    ) -> Result<Changed, Error> {
        let current = current.map(Stored::open).transpose()?;
        self.require(current)?;
        let timestamp = current.map_or(now, |current| now.max(current.timestamp().next()));
        let properties = match (&self.kind, current) {
            (ChangeKind::Delete, _) => {
                return Ok(Changed {
                    key: key.clone(),
                    value: None,
                    etag: None,
                });
            }
            (ChangeKind::Merge(patch), Some(current)) => {
                let merged = Properties::merged(current, patch)??;
                self.check_size(&merged)?;
                merged
            }
            _ => match self.kind {
                ChangeKind::Insert(properties)
                | ChangeKind::Replace(properties)
                | ChangeKind::Merge(properties) => properties,
                ChangeKind::Delete => Properties::empty(),
            },
        };
        Ok(Changed {
            key: key.clone(),
            value: Some(properties.into_stored(timestamp)),
            etag: Some(ETag(timestamp)),
        })
    }

    /// Checks that the entity is as the operation requires it.
    fn require(&self, current: Option<Stored<'_>>) -> Result<(), Error> {
        match self.kind {
            ChangeKind::Insert(_) => require_absent(current),
            ChangeKind::Replace(_) | ChangeKind::Merge(_) => require(self.condition, current),
            ChangeKind::Delete => require_present(self.condition, current),
        }
    }
}
