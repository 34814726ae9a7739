//! Errors of operations on queues.

use partita_cluster::LockError;
use partita_engine::{ReadError, WriteError};
use partita_model::KeyError;
use partita_service::Busy;
use std::sync::Arc;
use thiserror::Error;

/// Why an operation failed.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// The queue does not exist.
    #[error("the queue does not exist")]
    QueueNotFound,
    /// A queue with this name and other metadata exists.
    #[error("the queue already exists with other metadata")]
    QueueAlreadyExists,
    /// No message has this id, or the receipt is not its newest, or the message has expired.
    #[error("the message does not exist")]
    MessageNotFound,
    /// The message would be hidden beyond its expiry.
    #[error("the visibility timeout ends after the message expires")]
    VisibilityAfterExpiry,
    /// The batch is too large. Cannot happen within the limits of the data model.
    #[error("the write is too large")]
    TooLarge,
    /// The operation was not executed and can be retried.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The operation may have been executed.
    #[error("the outcome of the write is unknown")]
    OutcomeUnknown,
    /// Stored bytes cannot be decoded.
    #[error("stored data cannot be read: {0}")]
    Corrupt(Arc<str>),
}

/// The text is not a pop receipt of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a pop receipt")]
pub struct InvalidPopReceipt;

impl From<partita_service::Error> for Error {
    fn from(error: partita_service::Error) -> Self {
        match error {
            partita_service::Error::Busy(busy) => Self::Busy(busy),
            partita_service::Error::TooLarge => Self::TooLarge,
            partita_service::Error::OutcomeUnknown => Self::OutcomeUnknown,
            partita_service::Error::Corrupt(detail) => Self::Corrupt(detail),
        }
    }
}

partita_service::from_below!(Error: ReadError, WriteError, LockError, KeyError);
