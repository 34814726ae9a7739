//! What an operation can answer besides success.

use partita_cluster::LockError;
use partita_engine::{ReadError, Refusal, WriteError};
use partita_model::{KeyError, LimitError, StoredError};
use std::sync::Arc;
use std::time::Duration;
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
    /// Its name as a property.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PartitionKey => "PartitionKey",
            Self::RowKey => "RowKey",
        }
    }
}

/// Why an operation did not succeed.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// The table of an entity operation does not exist.
    #[error("the table does not exist")]
    TableNotFound,
    /// The table named as a resource does not exist.
    #[error("there is no such table")]
    NoSuchTable,
    /// A table of that name, whatever its case, exists.
    #[error("the table exists")]
    TableAlreadyExists,
    /// The entity does not exist.
    #[error("the entity does not exist")]
    EntityNotFound,
    /// An entity with these keys exists.
    #[error("the entity exists")]
    EntityAlreadyExists,
    /// The entity has another version than the condition names.
    #[error("the condition does not hold")]
    ConditionNotMet,
    /// The entity breaks a limit of the data model.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A key with a character that no key may have.
    #[error("a key has a forbidden character")]
    KeyCharacters {
        /// Which key.
        key: KeyName,
        /// Its value.
        value: String,
    },
    /// A key longer than any key may be.
    #[error("a key is too long")]
    KeyTooLong(KeyName),
    /// Two operations of a transaction name the same entity.
    #[error("an entity appears twice in the transaction")]
    DuplicateEntity,
    /// Two operations of a transaction name different partitions.
    #[error("the transaction names two partitions")]
    DifferentPartitions,
    /// The transaction writes more than one may. With the limits of the data model none does.
    #[error("the transaction writes too much")]
    TransactionTooLarge,
    /// It was not done, and may be tried again.
    #[error("not executed: {detail}")]
    Busy {
        /// In a word.
        reason: BusyReason,
        /// After how long it is worth trying again, as far as that is known.
        retry_after: Duration,
        /// In more words, for the log.
        detail: Arc<str>,
    },
    /// It may have been done.
    #[error("the outcome is unknown")]
    OutcomeUnknown,
    /// What is stored cannot be read.
    #[error("stored data cannot be read: {0}")]
    Corrupt(Arc<str>),
}

/// Why something was not done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyReason {
    /// The range of the keys is being split or merged.
    RangeInTransit,
    /// There is no room: in the pipeline, on the disk, or because the data is being opened; or its turn did not come in time.
    Overloaded,
    /// The partition is over its target.
    PartitionTarget,
    /// The table is over its target.
    TableTarget,
    /// The account is over its target.
    AccountTarget(AccountLimit),
}

/// Which target of an account was passed: the service has a text for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountLimit {
    /// Entities a second.
    Operations,
    /// Bytes a second, written.
    Ingress,
    /// Bytes a second, read.
    Egress,
}

impl BusyReason {
    /// All words, in the order of metrics.
    pub const WORDS: [&'static str; 5] = [
        "range-in-transit",
        "overloaded",
        "partition-target",
        "table-target",
        "account-target",
    ];

    /// Its word in the header `x-partita-reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        let [in_transit, overloaded, partition, table, account] = Self::WORDS;
        match self {
            Self::RangeInTransit => in_transit,
            Self::Overloaded => overloaded,
            Self::PartitionTarget => partition,
            Self::TableTarget => table,
            Self::AccountTarget(_) => account,
        }
    }

    /// Whether an operator's target was passed, and the server itself is well.
    #[must_use]
    pub const fn is_target(self) -> bool {
        match self {
            Self::RangeInTransit | Self::Overloaded => false,
            Self::PartitionTarget | Self::TableTarget | Self::AccountTarget(_) => true,
        }
    }
}

/// What is known of the time that a split, a full disk or a crowd takes: nothing but that it is not over at once.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Error {
    fn overloaded(cause: &dyn std::error::Error) -> Self {
        Self::Busy {
            reason: BusyReason::Overloaded,
            retry_after: RETRY_AFTER,
            detail: cause.to_string().into(),
        }
    }

    /// A request waited for its turn, and it did not come.
    pub(crate) fn out_of_patience() -> Self {
        Self::Busy {
            reason: BusyReason::Overloaded,
            retry_after: RETRY_AFTER,
            detail: "its turn did not come in time".into(),
        }
    }

    /// Whether the request itself was at fault, before anything stored was looked at. (Within a transaction of one
    /// operation, only such errors name the operation's index.)
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
            | Self::Busy { .. }
            | Self::OutcomeUnknown
            | Self::Corrupt(_) => false,
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Closed | ReadError::Unavailable(_) => Self::overloaded(&error),
            ReadError::Corrupt(source) => Self::Corrupt(source.to_string().into()),
        }
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            // Whoever tried that again would be refused again.
            WriteError::Refused(Refusal::TooLarge) => Self::TransactionTooLarge,
            WriteError::Refused(refusal) => Self::overloaded(&refusal),
            WriteError::Unknown => Self::OutcomeUnknown,
        }
    }
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Self {
        Self::Busy {
            reason: BusyReason::RangeInTransit,
            retry_after: RETRY_AFTER,
            detail: error.to_string().into(),
        }
    }
}

impl From<StoredError> for Error {
    fn from(error: StoredError) -> Self {
        Self::Corrupt(error.to_string().into())
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::Corrupt(error.to_string().into())
    }
}

/// Why a transaction did not happen: the first operation at fault.
#[derive(Debug, Clone, Error)]
#[error("operation {index} of the transaction: {error}")]
pub struct BatchError {
    /// The operation's place, from 0.
    pub index: usize,
    /// Its error.
    #[source]
    pub error: Error,
}
