//! The WAL in an object store: one log for each life of a process, one object for each group.
//!
//! A process that dies leaves its log behind, and any other process can take it over: it *seals* the log, which fences
//! the writer although it may be alive, and reads what lies below the seal. Nothing but put-if-absent decides, neither a
//! clock nor a coordinator.
//!
//! - [`RemoteLogs`] begins the log of a life, and seals, reads and collects the logs of others.
//! - [`RemoteStorage`] is the WAL of a single server: each open takes over the logs of all earlier lives.
//! - [`SharedStorage`] is the WAL of one process of a cluster, which takes over the records of one range at a time.
//! - [`LogReader`] reads a log in advance, while its writer may be alive.
//!
//! How it implements the guarantees of [`crate::Wal`]:
//! - **Durability.** A group is acknowledged when the store has created its object. All objects before it exist.
//! - **Failure.** An ambiguous error is not a failure: the same bytes are put again. A refused request, a dropped append
//!   or the end of [`Options::patience`] poisons the WAL.
//! - **Fence.** A seal at the next number. The writer never gets past it.
//! - **No silent loss.** Checksums find damaged objects. A hole is an error if a header proves that a group existed
//!   there: one of a later group, or of a seal above it. The caller, which knows the last flushed record, finds the loss
//!   of a whole log. Only the loss of the newest objects of a log without a seal is not found.
//!
//! What it needs of the store: put-if-absent of which one racing request wins; a GET and a list that show every object
//! whose PUT was answered; a list in the order of the paths, of which later pages are read later.
//!
//! The requests run on the runtime of the caller. A store that speaks HTTP needs a runtime with I/O, or a client whose
//! connections live on another runtime.
//!
//! `docs/format/remote-log.md` describes the bytes, `docs/design/0009-remote-log.md` the protocol and its costs.

mod collector;
mod fault;
mod group;
mod life;
mod listing;
mod logs;
mod object;
mod options;
mod own_log;
mod planted;
mod read_logs;
mod reader;
mod records_by_range;
mod remote_wal;
mod requests;
mod sealer;
mod segments;
mod shared_storage;
mod storage;

#[cfg(test)]
mod tests;

pub use life::Life;
pub use logs::RemoteLogs;
#[doc(hidden)]
pub use object::read_untrusted;
pub use options::Options;
pub use reader::LogReader;
pub use sealer::SealedLog;
pub use shared_storage::SharedStorage;
pub use storage::RemoteStorage;
