//! Delete Entity.

use super::change::{Change, ChangeKind, Condition};

impl Change {
    /// Deletes an entity.
    #[must_use]
    pub const fn delete(partition_key: String, row_key: String, condition: Condition) -> Self {
        Self::update(partition_key, row_key, ChangeKind::Delete, condition)
    }
}
