//! [`Keys`]: the keys of a row.

use partita_client::Entity;
use serde::{Deserialize, Serialize};

/// The keys of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct Keys {
    /// PartitionKey.
    pub partition_key: String,
    /// RowKey.
    pub row_key: String,
}

impl Keys {
    /// The keys of an entity.
    pub fn of(entity: &Entity) -> Self {
        Self {
            partition_key: entity.partition_key().to_owned(),
            row_key: entity.row_key().to_owned(),
        }
    }
}
