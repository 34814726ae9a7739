//! Deletes one group of rows.

use super::grouping::{DeleteGroup, RowToDelete};
use partita_client::{Error, TableClient, TransactionAction};

/// The result of deleting a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Deleted {
    /// Rows deleted.
    pub rows: u64,
    /// Rows that no longer existed.
    pub gone: u64,
    /// Rows that another client changed after the scan; they are kept.
    pub changed: u64,
}

/// Deletes rows of one partition in a transaction. If a row has changed or is gone, the whole transaction fails. The
/// other rows are then retried without that row, so there are at most as many requests as rows.
///
/// # Errors
/// The errors of the client. Rows of earlier requests are deleted.
pub async fn delete(table: &TableClient, mut rows: DeleteGroup) -> Result<Deleted, Error> {
    let mut done = Deleted::default();
    while !rows.is_empty() {
        let (at, error) = match try_all(table, &rows).await {
            Ok(()) => {
                done.rows += rows.len() as u64;
                break;
            }
            Err(failed) => failed,
        };
        if at >= rows.len() {
            return Err(error);
        }
        if error.is_precondition_failed() {
            done.changed += 1;
        } else if error.code_text() == "ResourceNotFound" {
            done.gone += 1;
        } else {
            return Err(error);
        }
        rows.remove(at);
    }
    Ok(done)
}

/// Deletes all rows or none. An error comes with the index of the failed row; `usize::MAX` if the server named none.
async fn try_all(table: &TableClient, rows: &[RowToDelete]) -> Result<(), (usize, Error)> {
    if let [row] = rows {
        let deleted = table.delete_entity(&row.partition_key, &row.row_key, &row.if_match);
        return deleted.await.map_err(|error| (0, error));
    }
    let actions = rows.iter().map(|row| TransactionAction::Delete {
        partition_key: row.partition_key.clone(),
        row_key: row.row_key.clone(),
        if_match: row.if_match.clone(),
    });
    let actions: Vec<_> = actions.collect();
    match table.submit_transaction(&actions).await {
        Ok(_) => Ok(()),
        Err(error) => Err((error.operation_index().unwrap_or(usize::MAX), error)),
    }
}
