//! Where a query resumes: the token that travels, and the position that it stands for.

use serde::{Deserialize, Serialize};

/// Where the next page of a query of entities begins, as the server wrote it: the values of
/// `x-ms-continuation-NextPartitionKey` and `-NextRowKey`.
///
/// Clients keep tokens and send them back unchanged; their text means something only to the server that made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContinuationToken {
    /// The value for `NextPartitionKey`.
    pub next_partition_key: String,
    /// The value for `NextRowKey`, which may be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row_key: Option<String>,
}

/// A position in a table: a row, or without a RowKey a partition. The meaning of a [`ContinuationToken`] that this server
/// made, and the ends of the key range of a shared access signature.
///
/// The row need not exist: a query resumes at the first row with these keys or after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityPosition {
    /// The PartitionKey.
    pub partition_key: String,
    /// The RowKey.
    pub row_key: Option<String>,
}
