//! Sources of a transfer's rows.

use super::TransferError;
use super::manifest::Source;
use crate::scan::{Bounds, Keyed, Order, PageSource, Query, ResumeToken, RunOptions, Scan, Step};
use partita_client::Entity;
use std::sync::Arc;

impl Keyed for Entity {
    fn partition_key(&self) -> &str {
        self.partition_key()
    }

    fn row_key(&self) -> &str {
        self.row_key()
    }
}

/// A table to read, and how to read it.
#[derive(Debug, Clone)]
pub struct TableReader<S> {
    /// The table.
    pub table: Arc<S>,
    /// Its endpoint, for the manifest and for comparison with a resumed job.
    pub endpoint: String,
    /// Its name.
    pub name: String,
    /// The query for its rows.
    pub query: Query,
    /// The partitions to read. The steps must lie within them.
    pub bounds: Bounds,
    /// The first steps of the scan, see [`crate::scan::Strategy::plan`].
    pub steps: Vec<Step>,
    /// Requests at the same time, at least 1.
    pub jobs: usize,
}

impl<S: PageSource> TableReader<S> {
    /// A scan of all rows, or the rest of one.
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

    /// Its entry in a manifest.
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
