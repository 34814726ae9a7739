//! Update, Merge, Insert Or Replace and Insert Or Merge Entity: with a condition the entity must exist, without one it is
//! created if it is missing.

use super::change::{Change, ChangeKind, Condition};
use partita_model::Properties;

impl Change {
    /// Replaces all properties: Update Entity with a condition, Insert Or Replace Entity without.
    #[must_use]
    pub const fn replace(
        partition_key: String,
        row_key: String,
        properties: Properties,
        condition: Condition,
    ) -> Self {
        Self::update(
            partition_key,
            row_key,
            ChangeKind::Replace(properties),
            condition,
        )
    }

    /// Sets the given properties and keeps the others: Merge Entity with a condition, Insert Or Merge Entity without.
    #[must_use]
    pub const fn merge(
        partition_key: String,
        row_key: String,
        properties: Properties,
        condition: Condition,
    ) -> Self {
        Self::update(
            partition_key,
            row_key,
            ChangeKind::Merge(properties),
            condition,
        )
    }

    const fn update(
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
