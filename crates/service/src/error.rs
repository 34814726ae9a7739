//! The errors that every service can answer when storage fails or refuses an operation.

use partita_cluster::{LockError, NotServed};
use partita_engine::{ReadError, Refusal, WriteError};
use partita_model::{KeyError, StoredError};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why storage did not complete an operation. A failed write either did not happen, or has an unknown outcome.
#[derive(Debug, Clone, Error)]
pub enum Error {
    /// The operation did not happen, and a retry may succeed.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The write exceeds the size limit, and did not happen.
    #[error("the write is too large")]
    TooLarge,
    /// The write may have happened.
    #[error("the outcome is unknown")]
    OutcomeUnknown,
    /// Stored bytes cannot be read.
    #[error("stored data cannot be read: {0}")]
    Corrupt(Arc<str>),
}

/// Converts errors of the crates below into the error of a service, which is made from a [`crate::Error`].
#[macro_export]
macro_rules! from_below {
    ($service:ty: $($below:ty),+) => {$(
        impl From<$below> for $service {
            fn from(error: $below) -> Self {
                $crate::Error::from(error).into()
            }
        }
    )+};
}

/// A request that was not executed; a retry may succeed.
#[derive(Debug, Clone, Error)]
#[error("not executed: {detail}")]
pub struct Busy {
    /// The reason code.
    pub reason: BusyReason,
    /// Time until a retry may succeed.
    pub retry_after: Duration,
    /// The details, for the log.
    pub detail: Arc<str>,
}

/// Why a request was not executed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyReason {
    /// The range of the keys is being split, merged or moved, or no server serves it at the moment.
    RangeInTransit,
    /// The commit pipeline or the disk is full, flushes are too slow, the data is closed or being reopened, or the
    /// request waited too long for admission.
    Overloaded,
    /// The partition exceeds its scalability target.
    PartitionTarget,
    /// The table exceeds its scalability target.
    TableTarget,
    /// The account exceeds one of its scalability targets.
    AccountTarget(AccountLimit),
    /// The memory for bodies and answers of all connections is in use.
    Memory,
}

/// The exceeded target of an account. It selects the error message of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountLimit {
    /// The target of entities per second.
    Operations,
    /// The target of written bytes per second.
    Ingress,
    /// The target of read bytes per second.
    Egress,
}

impl BusyReason {
    /// All reason codes, in the order of the metrics.
    pub const WORDS: [&'static str; 6] = [
        "range-in-transit",
        "overloaded",
        "partition-target",
        "table-target",
        "account-target",
        "memory",
    ];

    /// Its code in the header `x-partita-reason`.
    pub const fn as_str(self) -> &'static str {
        let [in_transit, overloaded, partition, table, account, memory] = Self::WORDS;
        match self {
            Self::RangeInTransit => in_transit,
            Self::Overloaded => overloaded,
            Self::PartitionTarget => partition,
            Self::TableTarget => table,
            Self::AccountTarget(_) => account,
            Self::Memory => memory,
        }
    }

    /// Whether clients alone can cause this refusal, as often as they want: by exceeding a target, or by sending or
    /// receiving slowly.
    pub const fn is_caused_by_clients(self) -> bool {
        match self {
            Self::RangeInTransit | Self::Overloaded => false,
            Self::PartitionTarget | Self::TableTarget | Self::AccountTarget(_) | Self::Memory => {
                true
            }
        }
    }
}

/// The default Retry-After of 503 answers: the smallest value in whole seconds.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Busy {
    /// A refusal because the range is in transit.
    pub fn in_transit(detail: impl Into<Arc<str>>) -> Self {
        Self {
            reason: BusyReason::RangeInTransit,
            retry_after: RETRY_AFTER,
            detail: detail.into(),
        }
    }

    /// A refusal of another server, by its reason code.
    pub fn of_word(reason: &str, detail: &str) -> Self {
        match reason == BusyReason::RangeInTransit.as_str() {
            true => Self::in_transit(detail),
            false => Self::overloaded(detail),
        }
    }

    /// A refusal because the server is overloaded.
    pub(crate) fn overloaded(detail: impl Into<Arc<str>>) -> Self {
        Self {
            reason: BusyReason::Overloaded,
            retry_after: RETRY_AFTER,
            detail: detail.into(),
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Closed | ReadError::Unavailable(_) => {
                Busy::overloaded(error.to_string()).into()
            }
            ReadError::Corrupt(source) => Self::Corrupt(source.to_string().into()),
        }
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            // A retry would be refused again.
            WriteError::Refused(Refusal::TooLarge) => Self::TooLarge,
            WriteError::Refused(refusal) => Busy::overloaded(refusal.to_string()).into(),
            WriteError::Unknown => Self::OutcomeUnknown,
        }
    }
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Self {
        Self::Busy(Busy::in_transit(error.to_string()))
    }
}

impl From<NotServed> for Error {
    fn from(error: NotServed) -> Self {
        LockError::from(error).into()
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
