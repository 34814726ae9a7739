//! `partita purge TABLE --filter FILTER`: deletes every row that matches a filter.

use crate::args::{NeededFilterArgs, ScanArgs};
use crate::prelude::*;
use crate::scan_session::ScanSpec;
use crate::signals::{interruptible, stop_requested};
use partita_tools::purge::{Deleted, Purge, PurgeCost};
use partita_tools::scan::{Emit, Keyed as _, Order, Strategy};

/// Delete every row that matches a filter, in batches, after showing the cost
#[derive(clap::Args)]
#[command(
    after_help = "A row that changes after it was found is kept. To resume after an interruption, run the command again. --filter \"\" matches every row, but `partita table delete` is cheaper."
)]
pub(crate) struct PurgeCommand {
    /// Table name
    table: String,
    #[command(flatten)]
    filter: NeededFilterArgs,
    /// Only show the cost
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    scan: ScanArgs,
}

impl AccountCommand for PurgeCommand {
    async fn run(self, connection: Connection, mut progress: Progress) -> CommandResult {
        let cost = self.cost(&connection, &progress).await?;
        progress.bar.hide();
        if cost.rows == 0 {
            return progress.finish("0 rows deleted", Outcome::NothingFound);
        }
        let rows = many(cost.rows, "row", "rows");
        message(&format!(
            "{rows} in {} match; deleting them takes {}, and finding them again at most {}",
            many(cost.partitions, "partition", "partitions"),
            many(cost.requests, "request", "requests"),
            count(progress.bar.traffic().requests),
        ));
        if self.dry_run {
            return progress.finish("0 rows deleted", Outcome::Done);
        }
        let question = format!("delete {rows} of table {}", self.table);
        self.confirm.confirm(&question, &mut progress)?;
        progress.start_bar("rows", Some(cost.rows), false);
        let deleted = self.delete(&connection, &progress).await?;
        progress.bar.hide();
        if deleted.changed > 0 {
            let changed = many(deleted.changed, "row was", "rows were");
            message(&format!("{changed} changed after the search, and kept"));
        }
        progress.finish(&summary(deleted), Outcome::Done)
    }
}

impl PurgeCommand {
    fn spec(&self) -> Result<ScanSpec<'_>, CommandError> {
        let (filter, select) = (Some(self.filter.checked()?), ScanSpec::keys_only());
        ScanSpec::new(&self.scan, filter, select, Emit::EveryRow, Order::Table)
    }

    /// Finds the rows once, to count them.
    async fn cost(
        &self,
        connection: &Connection,
        progress: &Progress,
    ) -> Result<PurgeCost, CommandError> {
        let spec = self.spec()?;
        let session = spec.start::<()>("purge", None, connection, &self.table);
        let mut session = session.await?;
        progress.start_bar("rows found", None, false);
        let mut cost = PurgeCost::default();
        let counting = session.run(progress, |(), batch| {
            for row in &batch.rows {
                cost.add(row.partition_key());
            }
            Ok(cost.rows)
        });
        counting.await?;
        Ok(cost)
    }

    /// Finds the rows again, and deletes them.
    async fn delete(
        &self,
        connection: &Connection,
        progress: &Progress,
    ) -> Result<Deleted, CommandError> {
        let steps = Strategy::Serial.plan(&self.scan.bounds(), &[], 1);
        let table = connection.service.table_client(&self.table);
        // A page has up to 1,000 rows and a batch deletes up to 100, so one scan job keeps the deletes busy.
        let scan = self.spec()?.scan(&table, steps, 1);
        let mut purge = Purge::new(scan, table, self.scan.jobs());
        let mut done = Deleted::default();
        let mut stop = std::pin::pin!(stop_requested());
        let error = loop {
            match interruptible(&mut stop, purge.next()).await {
                Ok(None) => return Ok(done),
                Err(error) => break error,
                Ok(Some(Err(error))) => break error.into(),
                Ok(Some(Ok(deleted))) => {
                    done.rows += deleted.rows;
                    done.gone += deleted.gone;
                    done.changed += deleted.changed;
                    progress
                        .bar
                        .set_position(done.rows + done.gone + done.changed);
                }
            }
        };
        progress.bar.hide();
        let rows = many(done.rows, "row is", "rows are");
        message(&format!(
            "{rows} deleted; run the command again to delete the others"
        ));
        Err(error)
    }
}

/// The last line: the number of deleted rows, and of rows that another client had deleted already.
fn summary(deleted: Deleted) -> String {
    let mut text = format!("{} deleted", many(deleted.rows, "row", "rows"));
    if deleted.gone > 0 {
        let gone = many(deleted.gone, "was", "were");
        text.push_str(&format!(", {gone} already deleted by another client"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_deleted_by_other_clients_are_counted() {
        let summary = |rows, gone| {
            summary(Deleted {
                rows,
                gone,
                changed: 0,
            })
        };
        assert_eq!(summary(1, 0), "1 row deleted");
        assert_eq!(
            summary(2, 1),
            "2 rows deleted, 1 was already deleted by another client"
        );
        assert_eq!(
            summary(0, 1_000),
            "0 rows deleted, 1,000 were already deleted by another client"
        );
    }
}
