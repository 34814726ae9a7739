//! Errors of operations on tables.

use partita_cluster::LockError;
use partita_engine::{ReadError, WriteError};
use partita_model::{KeyError, LimitError, StoredError};
use partita_service::Busy;
use std::sync::Arc;
use thiserror::Error;

/// One of the two keys of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyName {
    /// The PartitionKey.
    PartitionKey,
    /// The RowKey.
    RowKey,
}

impl KeyName {
    /// The name as a property.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PartitionKey => "PartitionKey",
            Self::RowKey => "RowKey",
        }
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// The table of the operation does not exist; answered as TableNotFound.
    #[error("the table does not exist")]
    TableNotFound,
    /// The table of Get Table or Delete Table does not exist, or a snapshot has no such table; answered as
    /// ResourceNotFound.
    #[error("no table has this name")]
    NoSuchTable,
    /// A table with this name, ignoring case, exists.
    #[error("the table already exists")]
    TableAlreadyExists,
    /// The entity does not exist.
    #[error("the entity does not exist")]
    EntityNotFound,
    /// An entity with these keys exists.
    #[error("the entity already exists")]
    EntityAlreadyExists,
    /// The entity does not have the version that the condition requires.
    #[error("the condition is not met")]
    ConditionNotMet,
    /// The entity exceeds a limit of the data model.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A key has a forbidden character.
    #[error("a key has a forbidden character")]
    KeyCharacters {
        /// Which key.
        key: KeyName,
        /// Its value.
        value: String,
    },
    /// A key is too long.
    #[error("a key is too long")]
    KeyTooLong(KeyName),
    /// Two operations of a transaction name the same entity.
    #[error("an entity appears twice in the transaction")]
    DuplicateEntity,
    /// Two operations of a transaction name different partitions.
    #[error("the transaction names two partitions")]
    DifferentPartitions,
    /// The transaction writes too many bytes. Cannot happen within the limits of the data model.
    #[error("the transaction writes too many bytes")]
    TransactionTooLarge,
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

impl Error {
    /// Whether the request is invalid whatever data is stored. (The answer to a transaction of one operation includes
    /// the index of the operation only for these errors.)
    #[must_use]
    pub const fn is_invalid_request(&self) -> bool {
        match self {
            Self::Limit(_)
            | Self::KeyCharacters { .. }
            | Self::KeyTooLong(_)
            | Self::DuplicateEntity
            | Self::DifferentPartitions
            | Self::TransactionTooLarge => true,
            Self::TableNotFound
            | Self::NoSuchTable
            | Self::TableAlreadyExists
            | Self::EntityNotFound
            | Self::EntityAlreadyExists
            | Self::ConditionNotMet
            | Self::Busy(_)
            | Self::OutcomeUnknown
            | Self::Corrupt(_) => false,
        }
    }
}

impl From<partita_service::Error> for Error {
    fn from(error: partita_service::Error) -> Self {
        match error {
            partita_service::Error::Busy(busy) => Self::Busy(busy),
            partita_service::Error::TooLarge => Self::TransactionTooLarge,
            partita_service::Error::OutcomeUnknown => Self::OutcomeUnknown,
            partita_service::Error::Corrupt(detail) => Self::Corrupt(detail),
        }
    }
}

partita_service::from_below!(Error: ReadError, WriteError, LockError, StoredError, KeyError);

/// The first failed operation of a transaction.
#[derive(Debug, Clone, Error)]
#[error("operation {index} of the transaction: {error}")]
pub struct BatchError {
    /// The operation's index, from 0.
    pub index: usize,
    /// Its error.
    #[source]
    pub error: Error,
}
