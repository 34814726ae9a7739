//! Errors, grouped by the reaction they need from the caller.

use std::sync::Arc;

use partita_wal::OpenWalError;

/// Why a batch was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The batch was not written and never will be: safe to retry.
    #[error("the write was refused: {0}")]
    Refused(Refusal),
    /// The batch may have been written. Read the keys once the engine is healthy again; a blind retry may apply the
    /// write twice.
    #[error("the outcome of the write is unknown")]
    Unknown,
}

/// Why a write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The engine is closed or closing.
    #[error("the engine is closed")]
    Closed,
    /// The disk is full. Writes resume automatically once there is space.
    #[error("the disk is full")]
    DiskFull,
    /// A write or sync failed, and the engine is reopening its databases. Writes resume automatically.
    #[error("the engine is recovering from a failure")]
    Recovering,
    /// The pipeline stayed full until the deadline, or too many rows are only in the WAL: the disk is too slow for the
    /// writes.
    #[error("timed out: too many bytes of writes are in flight")]
    Busy,
    /// A flush that [`crate::Engine::flush`] requested missed its deadline: the disk is slow, or has no space for files
    /// outside the WAL. Acknowledged rows are safe in the WAL.
    #[error("timed out while flushing rows to the store")]
    NotFlushed,
    /// A damaged file prevents the compaction of the range, so it refuses writes. Other ranges accept writes.
    #[error("a damaged file blocks the range; the log and the status of the server name it")]
    Damaged,
    /// The batch is larger than the limit for one batch.
    #[error("the batch is too large")]
    TooLarge,
}

impl From<Refusal> for WriteError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Why a read failed. A read can always be retried.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// The engine is closed.
    #[error("the engine is closed")]
    Closed,
    /// The engine is reopening its databases, or the store timed out.
    #[error("the engine is unavailable: {0}")]
    Unavailable(Arc<str>),
    /// Stored data is damaged, or has a format unknown to this version.
    #[error("cannot read stored data: damaged or of an unknown format")]
    Corrupt(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// Why an engine did not open. At startup it needs an operator; after a failure the engine set retries.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The range is already open.
    #[error("range {0} is already open")]
    AlreadyOpen(crate::RangeId),
    /// The databases are closed, or recovering from a failure.
    #[error("the databases are closed or recovering")]
    Unavailable,
    /// The WAL is damaged or lacks a file in a way that a crash cannot cause, or has a format unknown to this version.
    #[error("cannot open the WAL: {0}")]
    Wal(Arc<str>),
    /// The range was assigned to another process before this one had opened it.
    #[error("range {0} is assigned to another server now")]
    NotAssigned(crate::RangeId),
    /// Another server has taken over the store, and this process must not take it back.
    #[error("{0}")]
    Fenced(Arc<str>),
    /// A call to the file system failed while the WAL was opened.
    #[error("cannot open the WAL")]
    Io(#[from] std::io::Error),
    /// The store failed, or a database in it is damaged.
    #[error("cannot open the store")]
    Store(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// Why a change of databases failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeError {
    /// The range is open although the operation needs a closed range, or closed although it needs an open one.
    #[error(
        "range {0} is open and must be closed for this operation, or is closed and must be open"
    )]
    State(crate::RangeId),
    /// The range does not have this pin.
    #[error("pin not found in range {0}")]
    NotPinned(crate::RangeId),
    /// The operation ended early, because it would have delayed writes too long, or the store timed out.
    #[error("the operation timed out: the store is too slow")]
    Late,
    /// The writes that were held for a pin went on before the pin was made.
    #[error("the writes were held for too long, and went on without a snapshot")]
    HoldEnded,
    /// The databases are closed or recovering.
    #[error("the databases are closed or recovering")]
    Unavailable,
    /// Another process could not do its part.
    #[error("{0}")]
    Elsewhere(Arc<str>),
    /// The store failed, or a database in it has an unexpected state.
    #[error("the store failed: {0}")]
    Store(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// Ranges were to be taken over one by one, but the store belongs to one process.
#[derive(Debug, thiserror::Error)]
#[error("the store belongs to one process, which opens all of its ranges")]
pub(crate) struct NotShared;

impl From<OpenWalError> for OpenError {
    fn from(error: OpenWalError) -> Self {
        match error {
            OpenWalError::Io(error) => Self::Io(error),
            error @ (OpenWalError::Fenced { .. } | OpenWalError::Ended { .. }) => {
                Self::Fenced(error.to_string().into())
            }
            error @ (OpenWalError::UnknownVersion { .. }
            | OpenWalError::Missing { .. }
            | OpenWalError::Damaged { .. }) => Self::Wal(error.to_string().into()),
        }
    }
}
