//! Where the rows of a transfer come from.

use super::TransferError;
use super::manifest::Source;
use crate::scan::{
    Bounds, Keyed, MemoryRow, Order, PageSource, Query, ResumeToken, RunOptions, Scan, Step,
};
use partita_client::Entity;
use std::sync::Arc;

/// A row that can become an entity.
pub trait IntoEntity: Keyed {
    /// The entity, its Timestamp with it where the row has one.
    fn into_entity(self) -> Entity;
}

impl Keyed for Entity {
    fn partition_key(&self) -> &str {
        self.partition_key()
    }

    fn row_key(&self) -> &str {
        self.row_key()
    }
}

impl IntoEntity for Entity {
    fn into_entity(self) -> Entity {
        self
    }
}

impl IntoEntity for MemoryRow {
    fn into_entity(self) -> Entity {
        let properties = self.properties.into_iter();
        let properties = properties
            .map(|(name, value)| (name.into(), value))
            .collect();
        Entity::from_parts((self.partition_key, self.row_key), None, properties)
    }
}

/// The rows of a table that a transfer reads, and how.
#[derive(Debug, Clone)]
pub struct TableReader<S> {
    /// The table.
    pub table: Arc<S>,
    /// Where it is, in words: what a manifest says, and what a resumed job is compared with.
    pub endpoint: String,
    /// Its name.
    pub name: String,
    /// Which rows.
    pub query: Query,
    /// Of which partitions. The steps must lie within them.
    pub bounds: Bounds,
    /// The first steps of the scan, see [`crate::scan::Strategy::plan`].
    pub steps: Vec<Step>,
    /// Requests at the same time, at least 1.
    pub jobs: usize,
}

impl<S: PageSource> TableReader<S> {
    /// A scan of all rows, or of those that are left.
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
            buffer_rows_max: None,
        };
        Ok(Scan::new(
            Arc::clone(&self.table),
            self.query.clone(),
            steps,
            options,
        ))
    }

    /// What a manifest says of it.
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
