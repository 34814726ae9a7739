//! Continuation tokens, which clients send to resume a query, and the positions that they encode.

use serde::{Deserialize, Serialize};

/// The start of the next page of an entity query, in the server's text form: the values of
/// `x-ms-continuation-NextPartitionKey` and `-NextRowKey`.
///
/// Clients keep tokens and send them back unchanged; only the server that made a token can read its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContinuationToken {
    /// The value for `NextPartitionKey`.
    pub next_partition_key: String,
    /// The value for `NextRowKey`, which may be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row_key: Option<String>,
}

/// A position in a table: a row or, without a RowKey, a partition. A [`ContinuationToken`] encodes a position, and the
/// key range of a shared access signature is limited by two positions.
///
/// The row need not exist: a query resumes at the first row at or after these keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityPosition {
    /// The PartitionKey.
    pub partition_key: String,
    /// The RowKey.
    pub row_key: Option<String>,
}
