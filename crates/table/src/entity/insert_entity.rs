//! Insert Entity: creates an entity that must not exist.

use super::change::{Change, ChangeKind, Condition};
use partita_model::Properties;

impl Change {
    /// Creates an entity.
    #[must_use]
    pub const fn insert(partition_key: String, row_key: String, properties: Properties) -> Self {
        let kind = ChangeKind::Insert(properties);
        Self::update(partition_key, row_key, kind, Condition::None)
    }
}
