//! A change to an entity, and what becomes of the entity by it: pure functions from the current row to the next.

use crate::{Error, KeyName};
use bytes::Bytes;
use partita_model::limits::{ENTITY_BYTES_MAX, LimitError};
use partita_model::{DateTime, ETag, InvalidKey, Properties, Stored, check_key};

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// Makes a new entity: Insert Entity. Its condition is ignored.
    Insert(Properties),
    /// Replaces all properties: Update Entity with a condition, Insert Or Replace Entity without.
    Replace(Properties),
    /// Sets the properties given and keeps the others: Merge Entity with a condition, Insert Or Merge Entity without.
    Merge(Properties),
    /// Removes the entity: Delete Entity.
    Delete,
}

/// What must hold of the entity as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing: there may be none (`If-Match` absent).
    None,
    /// It exists (`If-Match: *`).
    Exists,
    /// It exists in this version.
    Version(ETag),
    /// It exists in a version that no entity has: an ETag of another maker.
    NoVersion,
}

/// A change to one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its PartitionKey.
    pub partition_key: String,
    /// Its RowKey.
    pub row_key: String,
    /// What it does.
    pub kind: ChangeKind,
    /// On which condition.
    pub condition: Condition,
}

/// What a change left.
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
    /// Checks what can be checked without looking at the entity.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let may_create = match &self.kind {
            ChangeKind::Insert(_) => true,
            ChangeKind::Replace(_) | ChangeKind::Merge(_) => self.condition == Condition::None,
            ChangeKind::Delete => false,
        };
        // A key that cannot be stored names no entity: changes that need one will not find it.
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

    /// How large it is, as the service sizes entities; of a merge and a delete what is sent.
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

    /// What the change makes of the entity as it is, at a time; the new Timestamp is later than the current one.
    pub(crate) fn apply(
        self,
        key: &Bytes,
        current: Option<&[u8]>,
        now: DateTime,
    ) -> Result<Changed, Error> {
        let current = current.map(Stored::open).transpose()?;
        self.require(current)?;
        let stamp = current.map_or(now, |current| now.max(current.timestamp().next()));
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
            value: Some(properties.into_stored(stamp)),
            etag: Some(ETag(stamp)),
        })
    }

    /// Whether the condition holds.
    fn require(&self, current: Option<Stored<'_>>) -> Result<(), Error> {
        if matches!(self.kind, ChangeKind::Insert(_)) {
            return if current.is_some() {
                Err(Error::EntityAlreadyExists)
            } else {
                Ok(())
            };
        }
        match (self.condition, current) {
            (Condition::None, None) if self.kind == ChangeKind::Delete => {
                Err(Error::EntityNotFound)
            }
            (Condition::None, _) | (Condition::Exists, Some(_)) => Ok(()),
            (Condition::Version(etag), Some(current)) if etag == current.etag() => Ok(()),
            (Condition::Version(_) | Condition::NoVersion, Some(_)) => Err(Error::ConditionNotMet),
            (_, None) => Err(Error::EntityNotFound),
        }
    }
}
