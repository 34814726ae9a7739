//! What can go wrong, by what the caller must do about it.

use std::sync::Arc;

use partita_wal::OpenWalError;

/// Why a batch was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It did not happen and never will: safe to try again.
    #[error("the write was refused: {0}")]
    Refused(Refusal),
    /// It may have happened. A read tells, once the engine is healthy again; retrying blindly may do it twice.
    #[error("the outcome of the write is unknown")]
    Unknown,
}

/// Why a write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The engine is closed or closing.
    #[error("the engine is closed")]
    Closed,
    /// There is no room on the disk. Writing resumes by itself once there is.
    #[error("the disk is full")]
    DiskFull,
    /// A write or sync failed and the engine is opening its data anew; it serves again by itself.
    #[error("the engine is recovering from a failure")]
    Recovering,
    /// No room came free within the deadline: more is being written than the disk takes.
    #[error("too much is in flight")]
    Busy,
    /// What is in memory did not reach the store's files within the deadline: the disk is slow, or has no room beside the log. The
    /// log has it all the same.
    #[error("the store did not take what is in memory in time")]
    NotFlushed,
    /// The batch is larger than the engine takes at all.
    #[error("the batch is too large")]
    TooLarge,
}

impl From<Refusal> for WriteError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Why a read was not answered. A read can always be tried again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// The engine is closed.
    #[error("the engine is closed")]
    Closed,
    /// The engine cannot answer now: it is opening its data anew, or the store did not answer in time.
    #[error("the engine cannot answer now: {0}")]
    Unavailable(Arc<str>),
    /// What is stored cannot be read: it is damaged, or of a format this version does not know.
    #[error("stored data cannot be read")]
    Corrupt(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// Why an engine did not open. Each needs a person.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The range is open already.
    #[error("range {0} is open already")]
    AlreadyOpen(crate::RangeId),
    /// The databases are closed, or recovering from a failure.
    #[error("the data is being opened")]
    Unavailable,
    /// The WAL is damaged in a way that no crash explains, or has a format that this version does not know.
    #[error("cannot open the WAL: {0}")]
    Wal(Arc<str>),
    /// The file system failed.
    #[error("cannot open the WAL")]
    Io(#[from] std::io::Error),
    /// The store failed, or a database in it is damaged.
    #[error("cannot open the store")]
    Store(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl From<OpenWalError> for OpenError {
    fn from(error: OpenWalError) -> Self {
        match error {
            OpenWalError::Io(error) => Self::Io(error),
            error @ (OpenWalError::UnknownVersion { .. } | OpenWalError::Damaged { .. }) => {
                Self::Wal(error.to_string().into())
            }
        }
    }
}
