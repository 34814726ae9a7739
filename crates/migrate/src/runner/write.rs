//! Writes the rows of a migration, and the copied pages of rows.

use super::super::record::Progress;
use super::super::{StepError, WriteRows};
use super::step::Step;
use futures::future::try_join_all;
use partita_bulk::{Mode, Writer, batches};
use partita_client::{Entity, TableClient, UpdateMode};

impl Step<'_> {
    /// Writes the rows of a step, one batch at a time, so that the progress is known if a batch fails.
    pub(super) async fn write_rows(&mut self, write: &WriteRows) -> Result<(), StepError> {
        if write.create_table {
            self.create_table_if_missing(&write.table).await?;
        }
        let writer = Writer {
            table: self.migrator.service.table_client(&write.table),
            mode: match write.update {
                None => Mode::Insert,
                Some(UpdateMode::Merge) => Mode::Merge,
                Some(UpdateMode::Replace) => Mode::Replace,
            },
            is_resumed: self.in_doubt,
        };
        let batches = batches(write.rows.clone());
        let done = self.record.progress.batches;
        for (index, batch) in batches.iter().enumerate().skip(done) {
            self.before_write().await?;
            writer.write_rows(batch).await?;
            self.saw_rows(batch.len());
            // This progress is stored only if a later batch fails.
            self.record.progress = Progress {
                batches: index + 1,
                ..Progress::default()
            };
        }
        Ok(())
    }

    /// Writes the rows of a page into a table, several batches at a time.
    pub(super) async fn write_page(
        &mut self,
        table: &TableClient,
        rows: Vec<Entity>,
        mode: Mode,
    ) -> Result<(), StepError> {
        let count = rows.len();
        let writer = Writer {
            table: table.clone(),
            mode,
            // An earlier run may have written rows of the page without recording it.
            is_resumed: true,
        };
        let jobs = self.migrator.options.jobs.max(1);
        for group in batches(rows).chunks(jobs) {
            self.before_write().await?;
            let writes: Vec<_> = group.iter().map(|batch| writer.write_rows(batch)).collect();
            try_join_all(writes).await?;
        }
        self.saw_rows(count);
        Ok(())
    }
}
