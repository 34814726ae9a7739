//! Finds the distinct PartitionKeys. The steps read the first row of each partition and skip the rest. The keys can be
//! written to another table, one row for each, by upserts.

use super::Action;
use super::count::by_keys;
use crate::fleet::step_row::StepResult;
use crate::fleet::{FleetError, Tally};
use crate::scan::Keyed as _;
use crate::source::TableRow;
use futures::future::{BoxFuture, ready};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use partita_client::{Entity, TableClient, UpdateMode};

/// Number of parallel writes of one step. Each row is in another partition, so no transaction can write several.
const WRITES: usize = 8;

/// Counts the partitions of a step.
pub(super) struct Partitions {
    /// The table of the keys.
    pub(super) to: Option<TableClient>,
}

impl Partitions {
    async fn write(&self, rows: Vec<TableRow>) -> Result<Tally, FleetError> {
        let mut tally = by_keys(&rows);
        if let Some(table) = &self.to {
            let write =
                |key: Entity| async move { table.upsert_entity(&key, UpdateMode::Replace).await };
            let keys = rows.iter().map(|row| Entity::new(row.partition_key(), ""));
            let writes = keys.collect::<Vec<_>>().into_iter().map(write);
            let mut writes = stream::iter(writes).buffer_unordered(WRITES);
            while writes
                .try_next()
                .await
                .map_err(FleetError::write)?
                .is_some()
            {
                tally.effects += 1;
            }
        }
        Ok(tally)
    }
}

impl Action for Partitions {
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>> {
        self.write(rows).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>> {
        ready(Ok(StepResult::default())).boxed()
    }
}
