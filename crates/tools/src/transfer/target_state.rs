//! [`TargetState`]: whether the table that a transfer writes exists and has rows.

use partita_client::{QueryOptions, TableClient};

/// The state of a table to write, before the first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetState {
    /// The table does not exist.
    Missing,
    /// The table has no rows.
    Empty,
    /// The table has rows, or the credentials do not permit to read it.
    HasRows,
}

impl TargetState {
    /// Looks at a table, with one request.
    ///
    /// # Errors
    /// The errors of the client, except for a missing table, and for credentials that permit only writing: such a table
    /// counts as one with rows.
    pub async fn of(table: &TableClient) -> partita_client::Result<Self> {
        let first = QueryOptions::new().page_size(1).select(["PartitionKey"]);
        match table.query_page(&first, None).await {
            Ok(page) if page.continuation().is_none() && page.entities()?.is_empty() => {
                Ok(Self::Empty)
            }
            Ok(_) => Ok(Self::HasRows),
            Err(error) if error.is_not_found() => Ok(Self::Missing),
            Err(error) if error.status() == Some(403) => Ok(Self::HasRows),
            Err(error) => Err(error),
        }
    }
}
