//! Keys, with the names of account, table, partition and queue that they contain.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A key of the ordered key space, and the names in it. A bound at the start or the end of the key space is `null`
/// instead of a named key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedKey {
    /// The key itself in Base64, as the parameter `key` of the action `split` expects it.
    pub key: String,
    /// The account.
    pub account: Option<String>,
    /// The table; `None` after it was dropped.
    pub table: Option<String>,
    /// The table's id, known also after the table was dropped.
    pub table_id: Option<String>,
    /// The PartitionKey; `None` if the key stands for a whole table.
    pub partition_key: Option<String>,
    /// Whether the key is after all rows of that partition, a bound of a key bucket; absent if not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_partition: Option<bool>,
    /// The queue; absent for the key of a table, and after the queue was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The queue's id, known also after the queue was deleted; absent for the key of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_id: Option<String>,
}

impl fmt::Display for NamedKey {
    /// Writes `people 'm'`: the table, and the PartitionKey quoted as in a filter; or `people after 'm'`, `queue work`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.queue_id.is_some() {
            let queue = self.queue.as_deref().unwrap_or("(deleted)");
            return write!(f, "queue {queue}");
        }
        f.write_str(self.table.as_deref().unwrap_or("(dropped table)"))?;
        match self.partition_key.as_deref() {
            Some(key) => {
                let after = match self.after_partition {
                    Some(true) => " after",
                    _ => "",
                };
                write!(f, "{after} '{}'", key.replace('\'', "''"))
            }
            None => Ok(()),
        }
    }
}
