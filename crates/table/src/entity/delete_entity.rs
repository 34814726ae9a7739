//! Delete Entity.

use super::change::{Change, ChangeKind, Condition};
use super::update_entity::require;
use crate::Error;
use partita_model::Stored;

impl Change {
    /// Deletes an entity.
    #[must_use]
    pub const fn delete(partition_key: String, row_key: String, condition: Condition) -> Self {
        Self {
            partition_key,
            row_key,
            kind: ChangeKind::Delete,
            condition,
        }
    }
}

/// Checks that the entity exists and the condition is met.
pub(super) fn require_present(
    condition: Condition,
    current: Option<Stored<'_>>,
) -> Result<(), Error> {
    match current {
        Some(_) => require(condition, current),
        None => Err(Error::EntityNotFound),
    }
}
