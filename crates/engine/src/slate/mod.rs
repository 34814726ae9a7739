//! The durable engine set: one SlateDB database for each range, over an object store and a common WAL.
//!
//! ```text
//!  callers ──submit──▶ queue ──▶ commit loop ──a batch each──▶ SlateDB writers ──▶ WAL: one write, one sync
//!                                (own thread)                        └──▶ memtable ──▶ level 0 ──▶ sorted runs
//! ```
//!
//! Guarantees beyond [`crate::Engine`] and [`crate::EngineSet`]:
//! - All waiting batches of all ranges, up to [`Settings::group_bytes_max`], form one group: one SlateDB batch and one
//!   WAL record for each range, one sync for all. A single caller waits for one sync; many callers share one.
//! - The commit loop and SlateDB's writer tasks have a dedicated thread. Request threads never block on a sync, and a
//!   group stays on one thread.
//! - Reads see durable rows only, and give up after [`READ_DEADLINE`]. A read that needs a damaged file fails at once;
//!   [`crate::EngineSet::damaged_files`] names the file ([`checked_store`], [`damage`]).
//! - Memory is bounded: batches in flight, rows not yet flushed, and one cache for all blocks and metadata
//!   ([`Settings`]).
//! - When a write of the WAL or of a database fails, all batches in flight are answered `Unknown`. The supervisor
//!   closes all databases and reopens them from the storage; until then reads and writes are refused.
//! - Databases can be pinned, all at one point between two groups ([`pin`]): a snapshot that copies nothing.
//! - A damaged or missing manifest is an error, although SlateDB's manifests have no checksum ([`manifest_store`]).
//! - The wall clock may be set back or forward, also between two starts. The times in the store still never decrease
//!   ([`store_clock`]).
//! - Space of deleted and overwritten rows is returned without a request ([`space`]).
//! - A clone shares the files of its sources ([`cloning`]). Range ids are never reused.
//!
//! Left to the callers: locks on the keys they change, and the meaning of keys.

mod admin;
mod cache;
mod checked_store;
mod cloning;
mod closing;
mod commit;
mod compared;
mod context;
mod core;
mod damage;
mod damage_watch;
mod data_files;
mod database;
mod detach;
mod disk_cache;
mod engine;
mod engine_set;
mod file_layout;
mod garbage;
mod home;
mod manifest_store;
mod metrics;
mod names;
mod newest_manifest;
mod open_range;
mod opening;
mod pin;
mod polls;
mod read;
mod removal;
mod retirement;
mod runs_later;
mod scan;
mod scrub;
mod settings;
mod space;
mod store_clock;
mod stored;
mod stored_bytes;
mod stored_times;
mod supervisor;
mod trash;
mod verify;
mod wal_adapter;
mod young_files;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slatedb::ErrorKind;
use slatedb_common::retry::NonRetryable;
use tokio::runtime::Handle;

use crate::{ChangeError, ReadError};

pub use disk_cache::DiskCache;
pub use engine_set::SlateEngineSet;
pub use home::{Home, LogSettings};
pub use partita_wal::local::{StoredLog, StoredRecords, verify as verify_log};
pub use partita_wal::{OpenWalError, WalId};
pub use settings::{Reads, Settings, SpaceSettings};
pub use stored::stored_ranges;
pub use verify::{CheckedDatabase, FileFault, FileKind, Verifier};

/// How long a read waits for the store.
pub const READ_DEADLINE: Duration = Duration::from_secs(10);

/// How long writing the rows in memory to the store's files, or closing a database, may take. A timeout loses no rows,
/// because the WAL has them.
const FLUSH_DEADLINE: Duration = Duration::from_secs(10);

/// How long an operation on the store's files may take: reading manifests, removing files. An interrupted removal of
/// thousands of files resumes with the next call.
const STORE_DEADLINE: Duration = Duration::from_secs(60);

/// Where the tasks of databases run.
#[derive(Clone)]
struct Runtimes {
    /// The commit thread: SlateDB's writer tasks.
    commit: Handle,
    /// The background threads: all other background work of SlateDB.
    store: Handle,
}

/// Limits the time of a read: the store retries forever, but callers give up. The timer is set only when the read does
/// not complete at once.
async fn within_read_deadline<T>(
    read: impl Future<Output = Result<T, ReadError>> + Send,
) -> Result<T, ReadError> {
    match tokio::time::timeout(READ_DEADLINE, read).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err(ReadError::Unavailable("the store timed out".into())),
    }
}

/// Limits the time of an operation on the store's files: SlateDB retries forever, also on a full disk, and the
/// operation holds the change lock. An operation that timed out can be repeated.
async fn within_store_deadline<T>(
    operation: impl Future<Output = Result<T, ChangeError>> + Send,
) -> Result<T, ChangeError> {
    let answer = tokio::time::timeout(STORE_DEADLINE, operation).await;
    answer.unwrap_or(Err(ChangeError::Late))
}

fn read_error(error: slatedb::Error) -> ReadError {
    // SlateDB reports all errors of the store as unavailability, except for a missing file.
    if NonRetryable::find(&error).is_some() {
        return ReadError::Corrupt(Arc::new(error));
    }
    match error.kind() {
        ErrorKind::Data => ReadError::Corrupt(Arc::new(error)),
        ErrorKind::Closed(_) | ErrorKind::Unavailable => {
            ReadError::Unavailable(error.to_string().into())
        }
        // A read cannot cause other error kinds, except by a bug of this crate or of SlateDB.
        _ => ReadError::Corrupt(Arc::new(error)),
    }
}

/// Converts a store error of an operation on files.
fn store_error(error: impl std::error::Error + Send + Sync + 'static) -> ChangeError {
    ChangeError::Store(Arc::new(error))
}

#[cfg(test)]
mod tests;
