//! Keys by the names of account, table and partition.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A key of the ordered key space, and the names in it. A bound at an end of the key space is `null` instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedKey {
    /// The key itself in Base64: the `key` of the action `split`.
    pub key: String,
    /// The account.
    pub account: Option<String>,
    /// The table; `None` after it was dropped.
    pub table: Option<String>,
    /// The table's id, known also after the table was dropped.
    pub table_id: Option<String>,
    /// The PartitionKey; `None` for all of a table.
    pub partition_key: Option<String>,
}

impl fmt::Display for NamedKey {
    /// `people 'm'`, with the quoting of a filter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table.as_deref().unwrap_or("(dropped table)"))?;
        match self.partition_key.as_deref() {
            Some(key) => write!(f, " '{}'", key.replace('\'', "''")),
            None => Ok(()),
        }
    }
}
