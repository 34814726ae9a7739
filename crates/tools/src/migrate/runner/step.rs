//! One step, as it is done.
//!
//! | step | done again after a run that was killed in it |
//! | --- | --- |
//! | create_table, delete_table | a table that is there, or not, is the run's own doing |
//! | insert | rows that are there are its own if they are the same |
//! | upsert, delete, clear | changes nothing |
//! | copy_table | goes on from the last place recorded; rows copied twice are the same; then compares |
//! | rename_table | the same; the old table is dropped once it is recorded that the copy is right |
//! | transform into a table | goes on from the last place recorded; rows written twice are the same |
//! | transform in place | a page is recorded before its rows are changed: those that are still as recorded are not changed yet |
//!
//! A step is *in doubt* if a run before may have done more of it than it recorded. Where it is not, what is found is taken for what
//! it is: a table that is to be made and is there is an error.

use super::super::lease::Lease;
use super::super::record::{self, Progress, Record};
use super::super::{MigrateError, Operation, RowSelection, StepError};
use super::{Event, MigratorOptions, Watch};
use crate::transfer::Mode;
use partita_client::{ErrorCode, Outcome, TableClient, TableServiceClient, UpdateMode};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a step works with.
pub(super) struct Step<'a> {
    pub(super) service: &'a TableServiceClient,
    pub(super) versions: &'a TableClient,
    pub(super) options: &'a MigratorOptions,
    pub(super) watch: &'a dyn Watch,
    pub(super) stop: &'a AtomicBool,
    pub(super) lease: &'a mut Lease,
    pub(super) record: &'a mut Record,
    pub(super) in_doubt: bool,
}

impl Step<'_> {
    /// Does it, or the rest of it.
    pub(super) async fn run(&mut self, operation: &Operation) -> Result<(), StepError> {
        match operation {
            Operation::CreateTable { table } => self.create_table(table).await,
            Operation::DeleteTable { table } => self.delete_table(table).await,
            Operation::RenameTable { from, to } => self.rename_table(from, to).await,
            Operation::CopyTable { from, to } => self.copy_table(from, to).await,
            Operation::Insert {
                table,
                rows,
                create_table,
            } => {
                self.write_rows(table, rows, Mode::Insert, *create_table)
                    .await
            }
            Operation::Upsert {
                table,
                rows,
                mode,
                create_table,
            } => {
                let mode = match mode {
                    UpdateMode::Merge => Mode::Merge,
                    UpdateMode::Replace => Mode::Replace,
                };
                self.write_rows(table, rows, mode, *create_table).await
            }
            Operation::Delete { table, rows } => match rows {
                RowSelection::Keys(keys) => self.delete_keys(table, keys).await,
                RowSelection::Partition(key) => self.delete_all(table, Some(key)).await,
                RowSelection::All => self.delete_all(table, None).await,
            },
            Operation::Transform(transform) => match &transform.to {
                Some(to) => self.transform_into(transform, to).await,
                None => self.transform_in_place(transform).await,
            },
        }
    }

    /// Records that it failed, as far as that can be: so that what is known not to have happened is not taken for done.
    pub(super) async fn failed(&mut self, error: StepError) -> StepError {
        let is_lost = |error: &StepError| matches!(error, StepError::Runner(error) if matches!(**error, MigrateError::Lost(_)));
        let is_stopped =
            matches!(&error, StepError::Runner(error) if matches!(**error, MigrateError::Stopped));
        // The record of a step that stopped says already that more of it may be done.
        if is_lost(&error) || is_stopped {
            return error;
        }
        self.record.in_doubt = self.in_doubt || !error.is_clean();
        self.record.failure = Some(in_full(&error));
        let recorded = match self.lease.keep().await {
            Ok(()) => record::write(self.versions, self.record).await,
            Err(lost) => Err(lost),
        };
        match recorded.map_err(StepError::from) {
            Err(lost) if is_lost(&lost) => lost,
            // The first failure is what there is to know.
            _ => error,
        }
    }

    /// To be called before each write: nobody wants an end, and the lease is still held.
    pub(super) async fn before_write(&mut self) -> Result<(), StepError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(MigrateError::Stopped.into());
        }
        Ok(self.lease.keep().await?)
    }

    /// Records how far it is.
    pub(super) async fn reached(&mut self, progress: Progress) -> Result<(), StepError> {
        self.record.progress = progress;
        self.record.in_doubt = true;
        self.before_write().await?;
        Ok(record::write(self.versions, self.record).await?)
    }

    pub(super) fn saw_rows(&self, rows: usize) {
        self.watch.event(&Event::Rows(rows as u64));
    }

    pub(super) async fn create_table(&mut self, table: &str) -> Result<(), StepError> {
        self.before_write().await?;
        match self.service.create_table(table).await {
            Ok(_) => Ok(()),
            Err(error)
                if error.code() == Some(ErrorCode::TableAlreadyExists)
                    && (self.in_doubt || error.outcome() == Outcome::MayHaveHappened) =>
            {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn create_table_if_missing(&mut self, table: &str) -> Result<(), StepError> {
        self.before_write().await?;
        self.service.create_table_if_not_exists(table).await?;
        Ok(())
    }

    pub(super) async fn delete_table(&mut self, table: &str) -> Result<(), StepError> {
        self.before_write().await?;
        match self.service.delete_table(table).await {
            Err(error)
                if error.is_not_found()
                    && (self.in_doubt || error.outcome() == Outcome::MayHaveHappened) =>
            {
                Ok(())
            }
            deleted => Ok(deleted?),
        }
    }
}

/// An error with its causes.
fn in_full(error: &StepError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
