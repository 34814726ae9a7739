//! Errors, grouped by the reaction they need from the caller.

use std::io;
use std::sync::Arc;

/// Why a record or a group was not appended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// An earlier append failed, or the WAL was reopened. Nothing was written.
    #[error("the WAL is closed after an earlier failure")]
    Poisoned,
    /// The write or the sync failed. The group may be durable or not.
    #[error("failed to append to the WAL")]
    Io(#[source] Arc<io::Error>),
    /// The record does not fit: it is larger than the space reserved for it, or has a key or value that is too long.
    /// Nothing was written.
    #[error("the record does not fit into the WAL")]
    Unfit,
}

/// Why space for a group cannot be reserved. The WAL is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// The storage is full.
    #[error("no space left for the WAL")]
    Full,
    /// The group is larger than the maximum size of a record.
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
    /// A part of the WAL has a format version unknown to this binary.
    #[error("{path} has WAL format {found}, which this version of partita cannot read")]
    UnknownVersion {
        /// The storage's name for the part, such as a file path.
        path: String,
        /// The version that was found.
        found: u32,
    },
    /// A part of the WAL is missing, and may have held records that are stored nowhere else.
    #[error(
        "{path} is missing: {what}; restore the file from a copy of this data directory, or restore a backup"
    )]
    Missing {
        /// The storage's name for the part, such as a file path.
        path: String,
        /// What the part held, and why it is needed.
        what: &'static str,
    },
    /// Another process has taken over the WAL. A WAL that this process opens again would take it back.
    #[error("another server has taken over {log}: it was sealed by {note}")]
    Fenced {
        /// The storage's name for the WAL of this process.
        log: String,
        /// Who has taken over.
        note: String,
    },
    /// The WAL of a process of a cluster has failed, and such a process does not open its WAL again.
    #[error("{log} has ended, and a server of a cluster does not open its log again")]
    Ended {
        /// The storage's name for the WAL of this process.
        log: String,
    },
    /// A part of the WAL is damaged in a way that a crash cannot cause.
    #[error(
        "{path} is damaged: {what}; restore the file from a copy of this data directory, or restore a backup"
    )]
    Damaged {
        /// The storage's name for the part, such as a file path.
        path: String,
        /// A description of the damage.
        what: &'static str,
    },
}
