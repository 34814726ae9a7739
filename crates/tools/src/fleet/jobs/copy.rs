//! Copies rows to another table. The writes are idempotent: upserts, or inserts that skip existing rows.

use super::Action;
use crate::fleet::step_row::StepResult;
use crate::fleet::{FleetError, RowHash, Tally};
use crate::source::TableRow;
use futures::future::{BoxFuture, ready};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use partita_bulk::{Mode, Writer, batches};
use partita_client::{Entity, TableClient};

/// Number of parallel writes of one step. A page of 1,000 rows of one partition takes ten.
const WRITES: usize = 4;

/// Copies the rows of a step.
pub(super) struct Copy {
    writer: Writer,
}

impl Copy {
    pub(super) fn new(to: TableClient, mode: Mode) -> Self {
        let writer = Writer {
            table: to,
            mode,
            // An earlier run of the step may have written its rows.
            is_resumed: true,
        };
        Self { writer }
    }

    async fn write(&self, rows: Vec<TableRow>) -> Result<Tally, FleetError> {
        let rows = entities(&rows)?;
        let tally = by_rows(&rows);
        let batches = batches(rows).into_iter().map(|batch| vec![batch]);
        self.write_lists(batches, tally).await
    }

    /// Writes rows among which a key may occur several times: the last of them stays, as the rows of each partition are
    /// written in their order.
    pub(super) async fn write_in_order(&self, rows: Vec<Entity>) -> Result<Tally, FleetError> {
        let tally = by_rows(&rows);
        let batches = batches(rows);
        let partitions = batches.chunk_by(|one, other| {
            let keys = [one, other].map(|batch| batch.first().map(Entity::partition_key));
            keys[0] == keys[1]
        });
        let partitions = partitions.map(<[Vec<Entity>]>::to_vec);
        self.write_lists(partitions.collect::<Vec<_>>().into_iter(), tally)
            .await
    }

    /// Writes several lists of batches at the same time, and the batches of each one after the other.
    async fn write_lists(
        &self,
        lists: impl Iterator<Item = Vec<Vec<Entity>>>,
        mut tally: Tally,
    ) -> Result<Tally, FleetError> {
        let writes = lists.map(|list| async move {
            let (mut written, mut rows) = (0, 0);
            for batch in list {
                written += self.writer.write_rows(&batch).await?;
                rows += batch.len();
            }
            Ok::<_, FleetError>((written as u64, (rows - written) as u64))
        });
        let mut writes = stream::iter(writes).buffer_unordered(WRITES);
        while let Some((written, kept)) = writes.try_next().await? {
            tally.effects += written;
            tally.kept += kept;
        }
        Ok(tally)
    }
}

impl Action for Copy {
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>> {
        self.write(rows).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>> {
        ready(Ok(StepResult::default())).boxed()
    }
}

/// Decodes rows.
pub(in crate::fleet) fn entities(rows: &[TableRow]) -> Result<Vec<Entity>, FleetError> {
    rows.iter().map(|row| Ok(row.entity()?)).collect()
}

/// Decodes rows and adds them to those of their step, for its end; returns their counts.
pub(super) fn keep(rows: &[TableRow], kept: &mut Vec<Entity>) -> Result<Tally, FleetError> {
    let rows = entities(rows)?;
    let tally = by_rows(&rows);
    kept.extend(rows);
    Ok(tally)
}

/// The counts of whole rows.
pub(in crate::fleet) fn by_rows(rows: &[Entity]) -> Tally {
    let mut tally = Tally::default();
    for row in rows {
        tally.rows += 1;
        tally.hash += RowHash::of_entity(row);
    }
    tally
}
