//! The write-ahead log (WAL) of a process: what makes a write durable before it is answered.
//!
//! All ranges of a process share one WAL. A *group* is what they write at the same time: one record for each range, appended and made
//! durable together. After a crash the WAL returns the records that the databases do not have yet.
//!
//! - [`Wal`] is the seam: make room, add a record for each range, append the group, release flushed records.
//! - [`WalStorage`] is the place of a WAL. It opens the WAL at startup, and again after a failed append.
//! - [`local`] keeps the log in segments of a directory. `docs/format/log.md` describes the bytes.
//! - `memory` keeps it in an object that outlives the WAL, so that a test can crash and restart what is above (feature `conformance`).
//! - `conformance` is the suite that every implementation passes (feature `conformance`).
//!
//! The crate leaves to its callers: which records belong into one group, when to flush a database, and the meaning of rows.

mod error;
#[cfg(any(test, feature = "conformance"))]
mod fault;
mod range_id;
mod record;
mod retention;
mod row;
mod wal;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod local;
#[cfg(any(test, feature = "conformance"))]
pub mod memory;

pub use error::{AppendError, OpenWalError, RoomError};
#[cfg(any(test, feature = "conformance"))]
pub use fault::AppendFault;
pub use range_id::RangeId;
pub use record::{Record, RecordHeader, RecordSize, WalId};
pub use row::{MalformedRows, Row, RowOf, RowRef, Rows};
pub use wal::{Resume, Wal, WalFuture, WalStorage};
