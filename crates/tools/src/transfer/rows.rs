//! [`TableReader`]: a table from which a transfer reads rows.

use super::TransferError;
use super::manifest::Source;
use crate::scan::{Bounds, Order, PageSource, Query, ResumeToken, RunOptions, Scan, Step};
use std::sync::Arc;

/// A table to read, with the query and the steps of the scan.
#[derive(Debug, Clone)]
pub struct TableReader<S> {
    /// The endpoint of the table, which is stored to check that a resumed transfer has the same source.
    pub endpoint: String,
    /// The name of the table.
    pub name: String,
    /// The source of the table's pages.
    pub table: Arc<S>,
    /// The query that selects the rows.
    pub query: Query,
    /// The first steps of the scan, see [`crate::scan::Strategy::plan`].
    pub steps: Vec<Step>,
    /// The partitions to read. The steps must lie within them.
    pub bounds: Bounds,
    /// Maximum number of parallel requests, at least 1.
    pub jobs: usize,
}

impl<S: PageSource> TableReader<S> {
    /// A scan of all rows, from the start or from a saved position.
    ///
    /// # Errors
    /// [`TransferError::Resume`].
    pub fn scan(&self, order: Order, from: Option<ResumeToken>) -> Result<Scan<S>, TransferError> {
        let steps = match from {
            Some(token) => token.into_steps(&self.query)?,
            None => self.steps.clone(),
        };
        let options = RunOptions {
            jobs: self.jobs,
            order,
        };
        Ok(Scan::new(
            Arc::clone(&self.table),
            self.query.clone(),
            steps,
            options,
        ))
    }

    /// The description of this source in a manifest or progress file.
    pub(super) fn source(&self) -> Source {
        let options = self.query.options();
        Source {
            endpoint: self.endpoint.clone(),
            table: self.name.clone(),
            filter: options.filter.clone(),
            select: options.select.clone(),
            bounds: self.bounds.clone(),
        }
    }
}
