//! Insert Entity: creates an entity that must not exist.

use super::change::{Change, ChangeKind, Condition};
use partita_model::Properties;

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
