//! Runs one step, or continues a step that an earlier run began.
//!
//! | step | how an interrupted step continues |
//! | --- | --- |
//! | create_table, delete_table | accepts that the table already exists, or is already deleted |
//! | insert | accepts existing rows that are equal |
//! | upsert, delete, clear | repeats the requests, which changes nothing |
//! | copy_table | continues from the recorded position; copying a row twice changes nothing; then compares the tables |
//! | rename_table | like copy_table; the old table is deleted after the record says that the copy is equal |
//! | transform into a table | continues from the recorded position; writing a row twice changes nothing |
//! | transform in place | changes only the rows of the recorded page whose ETags are unchanged, see `in_place.rs` |
//!
//! A step is *in doubt* if an earlier run may have done more of it than it recorded. If a step is not in doubt, it does
//! not accept these states: for example, a table to create must not exist.

use super::super::lease::Lease;
use super::super::record::{self, Progress, Record};
use super::super::{MigrateError, Operation, RowSelection, StepError};
use super::{Event, Migrator};
use partita_bulk::error_chain;
use partita_client::{ErrorCode, Outcome};
use std::sync::atomic::Ordering;

/// The context of a step.
pub(super) struct Step<'a> {
    pub(super) migrator: &'a Migrator,
    pub(super) lease: &'a mut Lease,
    pub(super) record: &'a mut Record,
    pub(super) in_doubt: bool,
}

impl Step<'_> {
    /// Runs the step, or the rest of it.
    pub(super) async fn run(&mut self, operation: &Operation) -> Result<(), StepError> {
        match operation {
            Operation::CreateTable { table } => self.create_table(table).await,
            Operation::DeleteTable { table } => self.delete_table(table).await,
            Operation::RenameTable { from, to } => self.rename_table(from, to).await,
            Operation::CopyTable { from, to } => self.copy_table(from, to).await,
            Operation::Write(write) => self.write_rows(write).await,
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

    /// Records the failure, and whether the failed write may have happened. Returns the error to report.
    pub(super) async fn failed(&mut self, error: StepError) -> StepError {
        let is_lost = |error: &StepError| matches!(error, StepError::Runner(error) if matches!(**error, MigrateError::Lost(_)));
        let is_stopped =
            matches!(&error, StepError::Runner(error) if matches!(**error, MigrateError::Stopped));
        // Without the lease, the record must not be written. The record of a stopped step already has `in_doubt`.
        if is_lost(&error) || is_stopped {
            return error;
        }
        self.record.in_doubt = self.in_doubt || !error.is_clean();
        self.record.failure = Some(error_chain(&error));
        let recorded = match self.lease.keep().await {
            Ok(()) => record::write(&self.migrator.versions, self.record).await,
            Err(lost) => Err(lost),
        };
        match recorded.map_err(StepError::from) {
            Err(lost) if is_lost(&lost) => lost,
            // A failure to write the record is not reported, because it usually has the same cause as the first
            // failure.
            _ => error,
        }
    }

    /// Returns an error if the run is stopped or the lease is lost. Must be called before each write.
    pub(super) async fn before_write(&mut self) -> Result<(), StepError> {
        if self.migrator.stop.load(Ordering::Relaxed) {
            return Err(MigrateError::Stopped.into());
        }
        Ok(self.lease.keep().await?)
    }

    /// Writes the progress of the step to the record.
    pub(super) async fn reached(&mut self, progress: Progress) -> Result<(), StepError> {
        self.record.progress = progress;
        self.record.in_doubt = true;
        self.before_write().await?;
        Ok(record::write(&self.migrator.versions, self.record).await?)
    }

    /// Whether the failed write may have succeeded before: in an earlier run, or in an attempt whose answer was lost.
    pub(super) fn may_be_done(&self, error: &partita_client::Error) -> bool {
        self.in_doubt || error.outcome() == Outcome::MayHaveHappened
    }

    pub(super) fn saw_rows(&self, rows: usize) {
        self.migrator.watch.event(&Event::Rows(rows as u64));
    }

    pub(super) async fn create_table(&mut self, table: &str) -> Result<(), StepError> {
        self.before_write().await?;
        match self.migrator.service.create_table(table).await {
            Ok(_) => Ok(()),
            Err(error)
                if error.code() == Some(ErrorCode::TableAlreadyExists)
                    && self.may_be_done(&error) =>
            {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn create_table_if_missing(&mut self, table: &str) -> Result<(), StepError> {
        self.before_write().await?;
        self.migrator
            .service
            .create_table_if_not_exists(table)
            .await?;
        Ok(())
    }

    pub(super) async fn delete_table(&mut self, table: &str) -> Result<(), StepError> {
        self.before_write().await?;
        match self.migrator.service.delete_table(table).await {
            Err(error) if error.is_not_found() && self.may_be_done(&error) => Ok(()),
            deleted => Ok(deleted?),
        }
    }
}
