//! Rows that a migration brings along.

use super::super::StepError;
use super::super::record::Progress;
use super::step::Step;
use crate::batching::batches;
use crate::transfer::{Mode, Writer};
use futures::future::try_join_all;
use partita_client::{Entity, TableClient};

impl Step<'_> {
    /// Writes rows, one batch after the other, so that what an insert has done before it failed is known.
    pub(super) async fn write_rows(
        &mut self,
        table: &str,
        rows: &[Entity],
        mode: Mode,
        create_table: bool,
    ) -> Result<(), StepError> {
        if create_table {
            self.create_table_if_missing(table).await?;
        }
        let writer = Writer {
            table: Some(self.service.table_client(table)),
            mode,
            is_resumed: self.in_doubt,
        };
        let done = self.record.progress.batches;
        for (index, batch) in batches(rows.to_vec()).iter().enumerate().skip(done) {
            self.before_write().await?;
            writer.write_rows(batch).await?;
            self.saw_rows(batch.len());
            // Kept with a failure, if there is one.
            self.record.progress = Progress {
                batches: index + 1,
                ..Progress::default()
            };
        }
        Ok(())
    }

    /// Writes the rows of a page into another table, several batches at a time.
    pub(super) async fn write_page(
        &mut self,
        table: &TableClient,
        rows: Vec<Entity>,
        mode: Mode,
    ) -> Result<(), StepError> {
        let count = rows.len();
        let writer = Writer {
            table: Some(table.clone()),
            mode,
            // Rows of a page may have been written by a run that did not come to record it.
            is_resumed: true,
        };
        let jobs = self.options.jobs.max(1);
        for group in batches(rows).chunks(jobs) {
            self.before_write().await?;
            let writes: Vec<_> = group.iter().map(|batch| writer.write_rows(batch)).collect();
            try_join_all(writes).await?;
        }
        self.saw_rows(count);
        Ok(())
    }
}
