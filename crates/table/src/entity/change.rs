//! Changes of an entity: pure functions that compute the new row from the current one.

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

/// The condition on the current entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// No condition: the entity may exist or not (no `If-Match`).
    None,
    /// The entity exists (`If-Match: *`).
    Exists,
    /// The entity exists in this version.
    Version(ETag),
    /// A condition that no entity meets: the ETag in `If-Match` has a form that Partita does not write.
    NoVersion,
}

/// A change of one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its PartitionKey.
    pub partition_key: String,
    /// Its RowKey.
    pub row_key: String,
    /// What the change does.
    pub kind: ChangeKind,
    /// The condition under which the change is made.
    pub condition: Condition,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The entity's key in the key space.
    pub key: Bytes,
    /// The entity's stored form; `None` for a deleted entity.
    pub value: Option<Bytes>,
    /// The new version; `None` for a deleted entity.
    pub etag: Option<ETag>,
}

impl Change {
    /// Checks keys and size, which do not depend on the current entity.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let may_create = match &self.kind {
            ChangeKind::Insert(_) => true,
            ChangeKind::Replace(_) | ChangeKind::Merge(_) => self.condition == Condition::None,
            ChangeKind::Delete => false,
        };
        // The keys of other changes need no check: an entity with an invalid key is never found.
        if may_create {
            self.check_key(KeyName::PartitionKey, &self.partition_key)?;
            self.check_key(KeyName::RowKey, &self.row_key)?;
        }
        match &self.kind {
            ChangeKind::Insert(properties)
            | ChangeKind::Replace(properties)
            | ChangeKind::Merge(properties) => {
                check_size(&self.partition_key, &self.row_key, properties)
            }
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

    /// The size of the request's entity by the service's formula; for a deletion, the bytes of its keys.
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

    /// The entity after the change. Its Timestamp is `now`, or just after the current one if that is later.
    pub(crate) fn apply(
        self,
        key: &Bytes,
        current: Option<&[u8]>,
        now: DateTime,
    ) -> Result<Changed, Error> {
        let current = current.map(Stored::open).transpose()?;
        self.require(current)?;
        let timestamp = current.map_or(now, |current| now.max(current.timestamp().next()));
        let properties = match (self.kind, current) {
            (ChangeKind::Delete, _) => {
                return Ok(Changed {
                    key: key.clone(),
                    value: None,
                    etag: None,
                });
            }
            (ChangeKind::Merge(patch), Some(current)) => {
                let merged = Properties::merged(current, &patch)??;
                check_size(&self.partition_key, &self.row_key, &merged)?;
                merged
            }
            (
                ChangeKind::Insert(properties)
                | ChangeKind::Replace(properties)
                | ChangeKind::Merge(properties),
                _,
            ) => properties,
        };
        Ok(Changed {
            key: key.clone(),
            value: Some(properties.into_stored(timestamp)),
            etag: Some(ETag(timestamp)),
        })
    }

    /// Checks the current entity against the condition of the operation.
    fn require(&self, current: Option<Stored<'_>>) -> Result<(), Error> {
        match (&self.kind, self.condition, current) {
            (ChangeKind::Insert(_), _, None) => Ok(()),
            (ChangeKind::Insert(_), _, Some(_)) => Err(Error::EntityAlreadyExists),
            (ChangeKind::Delete, _, None) => Err(Error::EntityNotFound),
            (_, Condition::None, _) | (_, Condition::Exists, Some(_)) => Ok(()),
            (_, Condition::Version(etag), Some(current)) if etag == current.etag() => Ok(()),
            (_, _, Some(_)) => Err(Error::ConditionNotMet),
            (_, _, None) => Err(Error::EntityNotFound),
        }
    }
}

fn check_size(partition_key: &str, row_key: &str, properties: &Properties) -> Result<(), Error> {
    if properties.entity_bytes(partition_key, row_key) > ENTITY_BYTES_MAX {
        return Err(LimitError::EntityTooLarge.into());
    }
    Ok(())
}
