//! Deletes all rows that a scan finds, grouped by partition into transactions, several at a time.
//!
//! Promises:
//! - a row is deleted only in the version that the scan read. A row that was written later is kept, and counted as
//!   changed. If the server sends no ETags, any version is deleted;
//! - a row that another client has already deleted is not an error;
//! - a purge that was stopped can be started again: the scan does not find the deleted rows, so the purge continues.

mod cost;
mod delete;
mod grouping;
#[cfg(test)]
mod tests;

pub use cost::PurgeCost;
pub use delete::{Deleted, delete};
pub use grouping::{DeleteGroup, RowToDelete, groups};

use crate::scan::{Batch, Scan, ScanError, SourceError};
use crate::source::{TableRow, TableSource};
use grouping::Grouping;
use partita_client::TableClient;
use std::collections::VecDeque;
use thiserror::Error;
use tokio::task::JoinSet;

/// Why a purge failed.
#[derive(Debug, Error)]
pub enum PurgeError {
    /// The rows to delete cannot be read.
    #[error("cannot read the rows to delete")]
    Scan(#[source] ScanError),
    /// A row of the scan is invalid.
    #[error("cannot read a row")]
    Row(#[source] SourceError),
    /// Rows cannot be deleted.
    #[error("cannot delete rows")]
    Delete(#[source] partita_client::Error),
}

/// A running purge, which owns its delete tasks. When it is dropped, its running deletes may or may not be executed.
#[derive(Debug)]
pub struct Purge {
    scan: Scan<TableSource>,
    table: TableClient,
    jobs: usize,
    /// `None` after the end of the scan.
    grouping: Option<Grouping>,
    waiting: VecDeque<DeleteGroup>,
    running: JoinSet<partita_client::Result<Deleted>>,
}

impl Purge {
    /// Deletes the rows that a scan finds, with up to `jobs` requests at a time. The scan should return keys in the
    /// table's order, or transactions are smaller than necessary.
    pub fn new(scan: Scan<TableSource>, table: TableClient, jobs: usize) -> Self {
        Self {
            scan,
            table,
            jobs: jobs.max(1),
            grouping: Some(Grouping::default()),
            waiting: VecDeque::new(),
            running: JoinSet::new(),
        }
    }

    /// The result for the next group of rows; `None` when all groups are deleted. The future may be dropped at any time
    /// without losing a row.
    ///
    /// # Errors
    /// [`PurgeError`]. The purge must then be started again.
    pub async fn next(&mut self) -> Option<Result<Deleted, PurgeError>> {
        loop {
            while self.running.len() < self.jobs
                && let Some(group) = self.waiting.pop_front()
            {
                let table = self.table.clone();
                self.running
                    .spawn(async move { delete::delete(&table, group).await });
            }
            // Reads until each job has a group to delete.
            let reads = self.grouping.is_some() && self.waiting.len() < self.jobs;
            tokio::select! {
                batch = self.scan.next(), if reads => {
                    if let Err(error) = self.found(batch) {
                        return Some(Err(error));
                    }
                }
                Some(done) = self.running.join_next() => {
                    return Some(joined(done).map_err(PurgeError::Delete));
                }
                else => return None,
            }
        }
    }

    fn found(
        &mut self,
        batch: Option<Result<Batch<TableRow>, ScanError>>,
    ) -> Result<(), PurgeError> {
        match batch {
            Some(batch) => {
                let rows = batch.map_err(PurgeError::Scan)?.rows;
                if let Some(grouping) = &mut self.grouping {
                    for row in &rows {
                        let row = RowToDelete::of(row).map_err(PurgeError::Row)?;
                        self.waiting.extend(grouping.add(row));
                    }
                }
            }
            None => {
                let last = self.grouping.take().and_then(Grouping::finish);
                self.waiting.extend(last);
            }
        }
        Ok(())
    }
}

fn joined<T>(done: Result<T, tokio::task::JoinError>) -> T {
    match done {
        Ok(done) => done,
        // Tasks are aborted only when the purge is dropped, so this error is a panic of the task.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
