//! Deletes rows, each only in the version that the step has read. A row that is already gone is not an error, so a step
//! can be repeated. If a worker died after it had deleted rows, these rows are not in the counts of the job, because the
//! repeated step no longer finds them.

use super::Action;
use super::count::by_keys;
use crate::fleet::step_row::StepResult;
use crate::fleet::{FleetError, Tally};
use crate::purge::{RowToDelete, delete, groups};
use crate::source::TableRow;
use futures::future::{BoxFuture, ready};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use partita_client::TableClient;

/// Number of parallel deletes of one step.
const DELETES: usize = 4;

/// Deletes the rows of a step.
pub(super) struct Purge {
    pub(super) table: TableClient,
}

impl Purge {
    async fn delete(&self, rows: Vec<TableRow>) -> Result<Tally, FleetError> {
        let mut tally = by_keys(&rows);
        let rows = rows.iter().map(RowToDelete::of);
        let rows = rows.collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(FleetError::Source)?;
        let deletes = groups(rows.into_iter()).into_iter();
        let deletes = deletes.map(|group| delete(&self.table, group));
        let mut deletes = stream::iter(deletes).buffer_unordered(DELETES);
        while let Some(deleted) = deletes.try_next().await.map_err(FleetError::write)? {
            tally.effects += deleted.rows;
            tally.kept += deleted.changed;
        }
        Ok(tally)
    }
}

impl Action for Purge {
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>> {
        self.delete(rows).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>> {
        ready(Ok(StepResult::default())).boxed()
    }
}
