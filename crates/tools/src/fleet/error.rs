//! Errors of fleets.

use super::queue::QueueError;
use crate::scan::{InvalidQuery, ScanError, SourceError};
use crate::transfer::TransferError;
use partita_bulk::{InvalidTemplate, TemplateError, WriteError};
use thiserror::Error;

/// Why an operation of a fleet failed.
#[derive(Debug, Error)]
pub enum FleetError {
    /// The job table cannot be read or written.
    #[error("cannot use the job table")]
    Table(#[source] Box<partita_client::Error>),
    /// The job's queue cannot be used.
    #[error("cannot use the queue of the job")]
    Queue(#[source] QueueError),
    /// There is no job with this id.
    #[error("there is no job {0}")]
    NoJob(String),
    /// The job is in another state.
    #[error("job {job} is {state}")]
    State {
        /// The id of the job.
        job: String,
        /// Its state.
        state: super::JobState,
    },
    /// A row of the job table is damaged, or another release wrote it.
    #[error("row {row} of the job table is not valid: {what}")]
    Damaged {
        /// The RowKey.
        row: String,
        /// What is wrong with it.
        what: String,
    },
    /// The worker's second connection is to another account than the job's.
    #[error(
        "the second account of the job is {expected}, but this worker is connected to {actual}"
    )]
    OtherAccount {
        /// The endpoint of the job.
        expected: String,
        /// The endpoint of the connection.
        actual: String,
    },
    /// The query of the job is invalid.
    #[error(transparent)]
    Query(#[from] InvalidQuery),
    /// The table of the job cannot be read.
    #[error("cannot read the table")]
    Scan(#[from] ScanError),
    /// A row cannot be decoded.
    #[error("cannot read a row")]
    Row(#[from] partita_client::ConvertError),
    /// Rows cannot be written.
    #[error(transparent)]
    Transfer(Box<TransferError>),
    /// Rows, keys or messages cannot be written.
    #[error("cannot write")]
    Write(#[source] Box<partita_client::Error>),
    /// A row cannot be read, or a command cannot be started.
    #[error(transparent)]
    Source(SourceError),
    /// The command of a step failed.
    #[error("the command failed: {0}")]
    Command(String),
    /// The template of the messages is invalid.
    #[error("invalid template")]
    Template(#[from] InvalidTemplate),
    /// A row does not fit the template of the messages.
    #[error("cannot make a message of a row")]
    Message(#[from] TemplateError),
    /// The job sends messages, but the worker has no connection to queues.
    #[error("the job sends messages, but this worker is not connected to queues")]
    NoQueues,
    /// The job runs commands, but the worker does not allow it.
    #[error("the job runs a command, which this worker does not allow")]
    NoCommands,
    /// The copy would insert rows.
    #[error(
        "a fleet cannot insert rows, because a repeated step meets its own rows: use replace, merge or skip"
    )]
    Insert,
    /// The result of a step does not fit into its row.
    #[error("the follow-up steps do not fit into one transaction")]
    TooLarge,
}

impl From<partita_client::Error> for FleetError {
    fn from(error: partita_client::Error) -> Self {
        Self::Table(Box::new(error))
    }
}

impl From<WriteError> for FleetError {
    fn from(error: WriteError) -> Self {
        TransferError::from(error).into()
    }
}

impl From<TransferError> for FleetError {
    fn from(error: TransferError) -> Self {
        Self::Transfer(Box::new(error))
    }
}

impl FleetError {
    /// For `map_err`: the failure of a write of an action.
    pub(super) fn write(error: partita_client::Error) -> Self {
        Self::Write(Box::new(error))
    }

    pub(super) fn damaged(row: &str, what: impl ToString) -> Self {
        Self::Damaged {
            row: row.to_owned(),
            what: what.to_string(),
        }
    }
}
