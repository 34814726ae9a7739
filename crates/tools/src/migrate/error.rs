//! Errors of migrations.

use super::change::ChangeError;
use super::template::TemplateError;
use super::{Checksum, Direction};
use crate::scan::{InvalidQuery, InvalidToken, ScanError};
use crate::transfer::TransferError;
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
    #[error("cannot read the row of version {version} in the version table: {what}")]
    Damaged {
        /// Its RowKey.
        version: String,
        /// What is wrong.
        what: String,
    },
    /// Another runner holds the lease. Wait, or take the lease over if that runner is dead.
    #[error("{who} is running migrations here; its lease expires in {} s unless it is renewed", .ends_in.as_secs() + 1)]
    Held {
        /// The name of the runner.
        who: String,
        /// The time until the lease expires unless its holder renews it.
        ends_in: Duration,
    },
    /// Another runner took the lease or wrote the record. This runner has written nothing since.
    #[error("another runner has taken over: {0}")]
    Lost(&'static str),
    /// The caller stopped the run. The next run continues.
    #[error("stopped before the next write; run again to continue")]
    Stopped,
    /// A migration has changed since it ran.
    #[error(transparent)]
    Changed(Box<ChangedMigration>),
    /// A migration that has not run has a lower version than one that ran.
    #[error(
        "migration {version} {id:?} is not applied, but the later version {after} is: give it a version above {after}"
    )]
    OutOfOrder {
        /// Its version.
        version: u64,
        /// Its id.
        id: String,
        /// The newest version that ran.
        after: u64,
    },
    /// A migration stopped halfway; it must be finished first.
    #[error("migration {version} {id:?} stopped while {}: finish it with {} first", .direction.doing(), .direction.name())]
    HalfWay {
        /// Its version.
        version: u64,
        /// Its id.
        id: String,
        /// The direction of its run.
        direction: Direction,
    },
    /// The definition of a migration that ran is missing.
    #[error("migration {version} {id:?} was applied, but its definition is missing")]
    Missing {
        /// Its version.
        version: u64,
        /// Its id.
        id: String,
    },
    /// A migration has no down steps.
    #[error("migration {version} {id:?} cannot be reverted: it has no down steps")]
    Irreversible {
        /// Its version.
        version: u64,
        /// Its id.
        id: String,
    },
    /// A step failed. Earlier steps stay done, and the next run continues from there.
    #[error(
        "migration {version} {id:?} failed at step {step} of {steps} ({operation}); {done} done before"
    )]
    Step {
        /// The migration's version.
        version: u64,
        /// Its id.
        id: String,
        /// The step, from 1.
        step: usize,
        /// The number of its steps.
        steps: usize,
        /// A description of the failed step.
        operation: String,
        /// The number of earlier steps, as text.
        done: String,
        /// Why it failed.
        source: Box<StepError>,
    },
}

/// A migration that has changed since it ran.
#[derive(Debug, Error)]
#[error(
    "migration {version} {id:?}{place} has changed since it ran: its checksum is {}, what ran at {at} was {ran_id:?} with {}",
    .now.short(), .ran.short()
)]
pub struct ChangedMigration {
    /// Its version.
    pub version: u64,
    /// Its id now.
    pub id: String,
    /// The file, as text.
    pub place: String,
    /// Its checksum now.
    pub now: Checksum,
    /// Its id when it ran.
    pub ran_id: String,
    /// Its checksum when it ran.
    pub ran: Checksum,
    /// When it ran.
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
    Write(#[from] TransferError),
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
        /// Its PartitionKey.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
        /// Why.
        source: RowError,
    },
    /// A copy differs from its source.
    #[error(
        "{to} differs from {from} in {rows} rows, the first with PartitionKey {partition_key:?} and RowKey {row_key:?}; \
         nothing is deleted; run again to copy the differences"
    )]
    Differs {
        /// The source.
        from: String,
        /// The copy.
        to: String,
        /// Rows that differ.
        rows: u64,
        /// PartitionKey of the first.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
    },
    /// The runner's own table or lease failed.
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
    #[error("another client keeps writing it; run again when that client has stopped")]
    Contended,
}

impl From<MigrateError> for StepError {
    fn from(error: MigrateError) -> Self {
        Self::Runner(Box::new(error))
    }
}

impl StepError {
    /// Whether the write that failed is known not to have happened.
    pub(super) fn is_clean(&self) -> bool {
        let did_not = |error: &partita_client::Error| error.outcome() == Outcome::DidNotHappen;
        match self {
            Self::Client(error) => did_not(error),
            Self::Write(TransferError::Write { source, .. }) => did_not(source),
            Self::Write(TransferError::Exists { .. }) => true,
            Self::Write(_) | Self::Runner(_) => false,
            Self::Read(_)
            | Self::Query(_)
            | Self::Resume(_)
            | Self::Row { .. }
            | Self::Differs { .. } => true,
        }
    }
}
