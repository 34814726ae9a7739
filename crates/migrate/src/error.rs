//! Errors of migrations.

use super::change::ChangeError;
use super::{Checksum, Direction};
use partita_bulk::scan::{InvalidQuery, InvalidToken, ScanError};
use partita_bulk::{DiffError, TemplateError, WriteError};
use partita_client::{DateTime, Outcome};
use std::time::Duration;
use thiserror::Error;

/// Why migrations stopped, or did not begin.
#[derive(Debug, Error)]
pub enum MigrateError {
    /// The version table cannot be read or written.
    #[error("cannot read or write the version table")]
    Records(#[source] Box<partita_client::Error>),
    /// A row of the version table is invalid.
    #[error("cannot read the row {version:?} of the version table: {what}")]
    Damaged {
        /// The RowKey of the row: a version, or `lease`.
        version: String,
        /// What is wrong.
        what: String,
    },
    /// Another runner holds the lease. Wait, or take the lease over if that runner is dead.
    #[error("{who} is running migrations in this account; its lease expires in {} s unless it is renewed", .ends_in.as_secs() + 1)]
    Held {
        /// The name of the other runner.
        who: String,
        /// The time until the lease expires, unless that runner renews it.
        ends_in: Duration,
    },
    /// Another runner took the lease or wrote the record, so this runner has stopped writing.
    #[error("stopped: {0}")]
    Lost(&'static str),
    /// The caller stopped the run. The next run continues.
    #[error("stopped before the next write; run again to continue")]
    Stopped,
    /// A migration has changed since it ran.
    #[error(transparent)]
    Changed(Box<ChangedMigration>),
    /// A migration that has not run has a lower version than a migration that has.
    #[error(
        "migration {version} {id:?} is not applied, but the later version {after} is: give it a version above {after}"
    )]
    OutOfOrder {
        /// The version of the migration.
        version: u64,
        /// The id of the migration.
        id: String,
        /// The newest version that ran.
        after: u64,
    },
    /// A migration stopped halfway. It must be finished before another run in the other direction.
    #[error("migration {version} {id:?} stopped while {}: finish it with {} first", .direction.doing(), .direction.name())]
    HalfWay {
        /// The version of the migration.
        version: u64,
        /// The id of the migration.
        id: String,
        /// The direction of the run that stopped.
        direction: Direction,
    },
    /// The definition of a migration that ran is missing.
    #[error("migration {version} {id:?} was applied, but its definition is missing")]
    Missing {
        /// The version of the migration.
        version: u64,
        /// The id of the migration.
        id: String,
    },
    /// A migration has no down steps.
    #[error("migration {version} {id:?} cannot be reverted: it has no down steps")]
    Irreversible {
        /// The version of the migration.
        version: u64,
        /// The id of the migration.
        id: String,
    },
    /// A step failed. Earlier steps remain finished, and the next run continues at the failed step.
    #[error(
        "migration {version} {id:?} failed at step {step} of {steps} ({operation}); {done} finished before"
    )]
    Step {
        /// The version of the migration.
        version: u64,
        /// The id of the migration.
        id: String,
        /// The number of the step, from 1.
        step: usize,
        /// The number of steps of the migration.
        steps: usize,
        /// A description of the failed step.
        operation: String,
        /// The number of earlier steps, as text: `no step`, `1 step`, `2 steps`.
        done: String,
        /// Why the step failed.
        source: Box<StepError>,
    },
}

/// A migration that has changed since it ran.
#[derive(Debug, Error)]
#[error(
    "migration {version} {id:?}{place} has changed since it ran: its checksum is now {}; {ran_id:?} ran at {at} with checksum {}",
    .now.short(), .ran.short()
)]
pub struct ChangedMigration {
    /// The version of the migration.
    pub version: u64,
    /// The id now.
    pub id: String,
    /// The path of the file in parentheses, or nothing.
    pub place: String,
    /// The checksum now.
    pub now: Checksum,
    /// The id when the migration ran.
    pub ran_id: String,
    /// The checksum when the migration ran.
    pub ran: Checksum,
    /// When the migration ran.
    pub at: DateTime,
}

/// Why a step failed.
#[derive(Debug, Error)]
pub enum StepError {
    /// A request failed.
    #[error(transparent)]
    Client(#[from] partita_client::Error),
    /// Rows cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The saved position of the step is invalid.
    #[error("cannot read the saved position of the step")]
    Resume(#[from] InvalidToken),
    /// Rows cannot be read.
    #[error(transparent)]
    Read(#[from] ScanError),
    /// The filter is invalid.
    #[error(transparent)]
    Query(#[from] InvalidQuery),
    /// A row cannot be changed.
    #[error("cannot change the row with PartitionKey {partition_key:?} and RowKey {row_key:?}")]
    Row {
        /// PartitionKey of the row.
        partition_key: String,
        /// RowKey of the row.
        row_key: String,
        /// Why not.
        source: RowError,
    },
    /// A copy differs from its source.
    #[error(
        "{to} differs from {from} in {rows} rows, the first with PartitionKey {partition_key:?} and RowKey {row_key:?}; \
         nothing is deleted; run again to copy the differences"
    )]
    Differs {
        /// The table that was copied.
        from: String,
        /// The copy.
        to: String,
        /// Number of rows that differ.
        rows: u64,
        /// PartitionKey of the first such row.
        partition_key: String,
        /// RowKey of the first such row.
        row_key: String,
    },
    /// The version table or the lease failed, or the run was stopped.
    #[error(transparent)]
    Runner(Box<MigrateError>),
}

/// Why a row cannot be changed.
#[derive(Debug, Error)]
pub enum RowError {
    /// A property cannot be changed.
    #[error(transparent)]
    PropertyChange(#[from] ChangeError),
    /// A key template cannot be filled.
    #[error(transparent)]
    Key(#[from] TemplateError),
    /// The new key is invalid.
    #[error("{0:?} is not a valid key")]
    InvalidKey(String),
    /// Another client keeps writing the row.
    #[error("another client keeps writing the row; run again when that client has stopped")]
    Contended,
}

impl From<DiffError> for StepError {
    fn from(error: DiffError) -> Self {
        Self::Read(error.source)
    }
}

impl From<MigrateError> for StepError {
    fn from(error: MigrateError) -> Self {
        Self::Runner(Box::new(error))
    }
}

impl StepError {
    /// Whether the failed write certainly did not happen.
    pub(super) fn is_clean(&self) -> bool {
        let did_not = |error: &partita_client::Error| error.outcome() == Outcome::DidNotHappen;
        match self {
            Self::Client(error) => did_not(error),
            Self::Write(error) => !error.may_have_happened(),
            Self::Runner(_) => false,
            Self::Read(_)
            | Self::Query(_)
            | Self::Resume(_)
            | Self::Row { .. }
            | Self::Differs { .. } => true,
        }
    }
}
