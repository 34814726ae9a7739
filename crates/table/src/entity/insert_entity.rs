//! Insert Entity: creates an entity that must not exist.

use super::change::{Change, ChangeKind, Condition};
use crate::Error;
use partita_model::{Properties, Stored};

impl Change {
    /// Creates an entity.
    #[must_use]
    pub const fn insert(partition_key: String, row_key: String, properties: Properties) -> Self {
        Self {
            partition_key,
            row_key,
            kind: ChangeKind::Insert(properties),
            condition: Condition::None,
        }
    }
}

/// Checks that the entity does not exist.
pub(super) fn require_absent(current: Option<Stored<'_>>) -> Result<(), Error> {
    match current {
        Some(_) => Err(Error::EntityAlreadyExists),
        None => Ok(()),
    }
}
