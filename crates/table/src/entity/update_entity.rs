//! Update, Merge, Insert Or Replace and Insert Or Merge Entity: with a condition the entity must exist; without a
//! condition a missing entity is created.

use super::change::{Change, ChangeKind, Condition};

impl Change {
    /// Replaces the properties of an entity, or merges new properties into them, depending on `kind`.
    #[must_use]
    pub const fn update(
        partition_key: String,
        row_key: String,
        kind: ChangeKind,
        condition: Condition,
    ) -> Self {
        Self {
            partition_key,
            row_key,
            kind,
            condition,
        }
    }
}
