//! What is missing in the answer of a cluster.

use serde::{Deserialize, Serialize};

/// What is missing in a document about all servers of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The servers of the cluster that did not answer: their ranges are missing. Absent if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<String>>,
    /// Why the names of tables and queues could not be read: those that this server read last are shown. Absent if they
    /// were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_unread: Option<String>,
}
