//! The write-ahead log (WAL) of a process, which makes a write durable before it is acknowledged.
//!
//! All ranges of a process share one WAL. A *group* is a set of records that are appended and made durable together,
//! one for each range. After a crash the WAL returns the records that the databases have not flushed yet.
//!
//! - [`Wal`] is the interface: make room, add a record for each range, append the group, release flushed records.
//! - [`WalStorage`] is the storage of a WAL. It opens the WAL at startup, and reopens it after a failed append.
//! - [`SharedLogs`] are the WALs of several processes over one store, which take over ranges from each other.
//! - [`local`] keeps the WAL in segment files of a directory. `docs/format/log.md` describes the bytes.
//! - [`remote`] keeps the WAL as objects in an object store, and takes over the WAL of another process.
//!   `docs/format/remote-log.md` describes the bytes.
//! - `memory` keeps it in an object that outlives the WAL, so that a test can crash and restart the crates above
//!   (feature `conformance`).
//! - `conformance` is the suite that every implementation passes (feature `conformance`).
//!
//! Left to the callers: which records form a group, when to flush a database, and the meaning of rows.

mod error;
#[cfg(any(test, feature = "conformance"))]
mod fault;
mod framing;
mod range_id;
mod record;
mod retention;
mod row;
mod shared_logs;
mod wal;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod local;
#[cfg(any(test, feature = "conformance"))]
pub mod memory;
#[cfg(feature = "planted-bugs")]
pub mod planted;
pub mod remote;

pub use error::{AppendError, OpenWalError, RoomError};
#[cfg(any(test, feature = "conformance"))]
pub use fault::AppendFault;
pub use range_id::RangeId;
pub use record::{Record, RecordHeader, RecordSize, RecordSizes, WalId};
pub use row::{MalformedRows, Row, RowOf, RowRef, Rows};
pub use shared_logs::SharedLogs;
pub use wal::{Resume, VerifiedFile, Wal, WalFuture, WalStorage};
