//! Update, Merge, Insert Or Replace and Insert Or Merge Entity: with a condition the entity must exist, without one it is
//! created where it does not.

use super::change::{Change, ChangeKind, Condition};
use crate::Error;
use partita_model::{Properties, Stored};

impl Change {
    /// Replaces all properties: Update Entity with a condition, Insert Or Replace Entity without.
    #[must_use]
    pub const fn replace(
        partition_key: String,
        row_key: String,
        properties: Properties,
        condition: Condition,
    ) -> Self {
        Self {
            partition_key,
            row_key,
            kind: ChangeKind::Replace(properties),
            condition,
        }
    }

    /// Sets the given properties and keeps the others: Merge Entity with a condition, Insert Or Merge Entity without.
    #[must_use]
    pub const fn merge(
        partition_key: String,
        row_key: String,
        properties: Properties,
        condition: Condition,
    ) -> Self {
        Self {
            partition_key,
            row_key,
            kind: ChangeKind::Merge(properties),
            condition,
        }
    }
}

/// Checks that the condition is met.
pub(super) fn require(condition: Condition, current: Option<Stored<'_>>) -> Result<(), Error> {
    match (condition, current) {
        (Condition::None, _) | (Condition::Exists, Some(_)) => Ok(()),
        (Condition::Version(etag), Some(current)) if etag == current.etag() => Ok(()),
        (Condition::Version(_) | Condition::NoVersion, Some(_)) => Err(Error::ConditionNotMet),
        (_, None) => Err(Error::EntityNotFound),
    }
}
