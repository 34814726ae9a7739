//! Why migrations stopped.

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
    /// The table of versions cannot be read or written.
    #[error("cannot read or write the version table")]
    Records(#[source] Box<partita_client::Error>),
    /// A row of the table of versions is not what is written there.
    #[error("cannot read the row of version {version} in the version table: {what}")]
    Damaged {
        /// Its RowKey.
        version: String,
        /// What is wrong.
        what: String,
    },
    /// Another runner is at it. Waiting is the cure, or taking its lease if it is known to be dead.
    #[error("{who} is running migrations here; its lease expires in {} s unless it is renewed", .ends_in.as_secs() + 1)]
    Held {
        /// Who it is.
        who: String,
        /// How long its lease lasts, if it is dead.
        ends_in: Duration,
    },
    /// Somebody else took the lease, or wrote the record. Nothing was written since that was seen.
    #[error("another runner has taken over: {0}")]
    Lost(&'static str),
    /// It was told to stop. Running again goes on.
    #[error("stopped before the next write; run again to continue")]
    Stopped,
    /// A migration that ran is not the same any more.
    #[error(transparent)]
    Changed(Box<ChangedMigration>),
    /// A migration is older than one that ran.
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
    /// A migration stopped halfway, and has to be finished first.
    #[error("migration {version} {id:?} stopped while {}: finish it with {} first", .direction.doing(), .direction.verb())]
    HalfWay {
        /// Its version.
        version: u64,
        /// Its id.
        id: String,
        /// Which way it went.
        direction: Direction,
    },
    /// A migration that ran is not among those given.
    #[error("migration {version} {id:?} was applied, but its definition is missing")]
    Missing {
        /// Its version.
        version: u64,
        /// Its id.
        id: String,
    },
    /// A migration declares no reverse.
    #[error("migration {version} {id:?} cannot be reverted: it has no down steps")]
    Irreversible {
        /// Its version.
        version: u64,
        /// Its id.
        id: String,
    },
    /// A step failed. What was done stays, and running again goes on from there.
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
        /// How many steps it has.
        steps: usize,
        /// The step in words.
        operation: String,
        /// What was done before, in words.
        done: String,
        /// Why it failed.
        #[source]
        source: Box<StepError>,
    },
}

/// A migration that ran is not the same any more: what it is, and what ran.
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
    /// The file, in words.
    pub place: String,
    /// Its checksum now.
    pub now: Checksum,
    /// The id of what ran.
    pub ran_id: String,
    /// The checksum of what ran.
    pub ran: Checksum,
    /// When.
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
    /// Rows cannot be read.
    #[error(transparent)]
    Read(#[from] ScanError),
    /// The filter is none.
    #[error(transparent)]
    Query(#[from] InvalidQuery),
    /// Where the step stood cannot be read.
    #[error("cannot read the saved position of the step")]
    Resume(#[from] InvalidToken),
    /// A row cannot be changed.
    #[error("cannot change the row with PartitionKey {partition_key:?} and RowKey {row_key:?}")]
    Row {
        /// Its PartitionKey.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
        /// Why.
        #[source]
        source: RowError,
    },
    /// A copy is not what it was copied from.
    #[error(
        "{to} differs from {from} in {rows} rows, the first with PartitionKey {partition_key:?} and RowKey {row_key:?}; \
         nothing is dropped, and running again takes the differences over"
    )]
    Differs {
        /// The table copied.
        from: String,
        /// The copy.
        to: String,
        /// Rows that are not the same.
        rows: u64,
        /// PartitionKey of the first one.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
    },
    /// The runner's own table or lease.
    #[error(transparent)]
    Runner(Box<MigrateError>),
}

/// Why a row cannot be changed.
#[derive(Debug, Error)]
pub enum RowError {
    /// A property cannot be changed.
    #[error(transparent)]
    PropertyChange(#[from] ChangeError),
    /// A key cannot be made.
    #[error(transparent)]
    Key(#[from] TemplateError),
    /// A key that was made is none.
    #[error("{0:?} is not a valid key")]
    InvalidKey(String),
    /// Somebody else writes it all the time.
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
