//! Errors, by what the caller must do about them.

use std::io;
use std::sync::Arc;

/// Why a record or a group was not appended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// An earlier append failed, or the WAL was opened again. Nothing was written.
    #[error("the WAL is closed after an earlier failure")]
    Poisoned,
    /// The write or the sync failed. The group may be durable or not.
    #[error("failed to append to the WAL")]
    Io(#[source] Arc<io::Error>),
    /// The record does not fit: it is larger than the room made for it, or has a key or value that is too long. Nothing was written.
    #[error("the record does not fit into the WAL")]
    Unfit,
}

/// Why there is no room for a group. The WAL is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// The storage is full.
    #[error("no space left for the WAL")]
    Full,
    /// A record of this size can never be written.
    #[error("the group is too large for the WAL")]
    TooLarge,
    /// The storage failed for another reason.
    #[error("failed to extend the WAL")]
    Io(#[from] io::Error),
}

/// Why a WAL cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenWalError {
    /// The storage failed.
    #[error("cannot read the WAL")]
    Io(#[from] io::Error),
    /// A part of the WAL has a version that this binary does not know.
    #[error("{path} has WAL format {found}, which this version of partita cannot read")]
    UnknownVersion {
        /// The part, as the storage names it.
        path: String,
        /// Its version.
        found: u32,
    },
    /// A part of the WAL is damaged in a way that no crash explains.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The part, as the storage names it.
        path: String,
        /// What is wrong.
        what: &'static str,
    },
}
