//! Compares the result of a job with a serial scan: the number of rows and their order-free hash.

use super::jobs::copy::{by_rows, entities};
use super::jobs::count::by_keys;
use super::jobs::export::written;
use super::{Access, FleetError, Job, JobKind, Tally};
use crate::scan::{Query, QueryOptions, RunOptions, Scan, Strategy};
use crate::source::{TableRow, TableSource};
use partita_client::TableClient;
use std::sync::Arc;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// What the job has counted.
    pub job: Tally,
    /// What a serial scan of the job's table finds; of an import, of the table to which it wrote.
    pub source: Tally,
    /// What a serial scan of the whole second table finds, within the job's bounds, or what the files of an export have;
    /// `None` for other jobs.
    pub destination: Option<Tally>,
    /// Whether the job deletes its rows, so that its table should have none of them.
    pub is_purge: bool,
}

impl Verification {
    /// Whether all have the same rows; after a purge, whether no row is left. Rows that only the second table has are a
    /// difference.
    pub fn is_equal(&self) -> bool {
        if self.is_purge {
            return self.source.rows == 0;
        }
        let same = |other: &Tally| (other.rows, other.hash) == (self.job.rows, self.job.hash);
        same(&self.source) && self.destination.as_ref().is_none_or(same)
    }
}

/// Compares the totals of an ended job with its tables, which must not have changed since.
///
/// # Errors
/// [`FleetError::State`] if the job has not ended; [`FleetError::OtherAccount`], [`FleetError::Scan`].
pub async fn verify(access: &Access, job: &Job) -> Result<Verification, FleetError> {
    let totals = job.totals.ok_or_else(|| FleetError::State {
        job: job.id.clone(),
        state: job.state,
    })?;
    let source = access.source_table(job);
    let query = job.spec.query()?;
    let destination = match &job.spec.kind {
        JobKind::Count
        | JobKind::Enqueue { .. }
        | JobKind::Exec { .. }
        | JobKind::Import { .. }
        | JobKind::Partitions { .. }
        | JobKind::Purge => None,
        JobKind::Export { directory, .. } => Some(written(access.directory(directory)).await?),
        JobKind::Copy { to, .. } => {
            let all = QueryOptions {
                filter: None,
                ..query.options().clone()
            };
            let table = access.destination_table(job, to)?;
            Some(serial(job, table, Query::new(all)?).await?)
        }
    };
    Ok(Verification {
        is_purge: job.spec.kind == JobKind::Purge,
        job: totals,
        source: serial(job, source, query).await?,
        destination,
    })
}

/// Reads a table page after page, and counts its rows as the job does.
async fn serial(job: &Job, table: TableClient, query: Query) -> Result<Tally, FleetError> {
    let steps = Strategy::Serial.plan(&job.spec.source.bounds, &[], 1);
    let source = Arc::new(TableSource(table));
    let mut scan = Scan::new(source, query, steps, RunOptions::default());
    let mut found = Tally::default();
    while let Some(batch) = scan.next().await {
        found += tally(job, &batch?.rows)?;
    }
    Ok(found)
}

fn tally(job: &Job, rows: &[TableRow]) -> Result<Tally, FleetError> {
    if job.spec.kind.is_keys_only() {
        return Ok(by_keys(rows));
    }
    Ok(by_rows(&entities(rows)?))
}
