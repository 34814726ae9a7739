//! The durable engines: rows in SlateDB over the data directory, one database for each range.
//!
//! ```text
//!  callers ──submit──▶ queue ──▶ commit loop ──a batch each──▶ SlateDB writers ──▶ log: one write, one sync
//!                                (own thread)                        └──▶ memtable ──▶ level 0 ──▶ sorted runs
//! ```
//!
//! What they promise beyond [`Engine`] and [`EngineSet`]:
//! - All batches that wait go into one group, whatever their ranges: one SlateDB batch and one record of the log for each range,
//!   one sync for all. A caller alone pays one sync; many callers share it.
//! - The commit loop and SlateDB's writer tasks have a thread of their own: no request waits for another one's sync on the
//!   threads that serve requests, and no group hops between threads.
//! - Reads ask SlateDB for durable rows only, and give up after [`READ_DEADLINE`].
//! - Memory is bounded: batches in flight, rows not yet flushed, and one cache for all blocks and metadata ([`Settings`]).
//! - When a write of the log or of a database fails, everything in flight is answered `Unknown`, and the supervisor closes all
//!   databases and opens them anew, from what the disk really holds. Until then reads and writes are refused.
//! - EngineSet can be pinned, all at one point between two groups ([`pin`]): a snapshot that copies nothing.
//! - A database derived from others shares their files ([`derive`]); ids are never used again.
//!
//! They leave to the callers: locks on what they change, and the meaning of keys.

mod cache;
mod cloning;
mod commit;
mod core;
mod detach;
mod engine;
mod engine_set;
mod figures;
mod file_layout;
mod group_barrier;
mod home;
mod open;
mod pin;
mod scan;
mod settings;
mod supervisor;
mod wal_adapter;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slatedb::{Db, ErrorKind};
use tokio::runtime::Handle;

use crate::{RangeId, ReadError};
use detach::Rewriting;
use figures::Figures;

pub use engine_set::SlateEngineSet;
pub use home::Home;
pub use settings::Settings;

/// How long a read waits for the store before it is given up.
pub const READ_DEADLINE: Duration = Duration::from_secs(10);

/// How long a flush or the end waits for the store to take what is in memory. Nothing is lost when it takes longer: the log
/// has it.
const FLUSH_DEADLINE: Duration = Duration::from_secs(10);

/// How long whoever asks something of the store's files waits: to read manifests, to remove files. A collection of thousands of files
/// goes on where it was cut short.
const ASKED_DEADLINE: Duration = Duration::from_secs(60);

/// Where the work of databases runs.
#[derive(Clone)]
struct Runtimes {
    /// The commit thread: SlateDB's writer tasks.
    commit: Handle,
    /// The background threads: everything else that SlateDB does of itself.
    store: Handle,
}

/// An open database.
struct Opened {
    range: RangeId,
    db: Db,
    figures: Figures,
    rewriting: Rewriting,
}

/// Waits for a read, but not for ever: the store retries without end, whoever waits for it does not. The timer is set only
/// when the read does not answer at once.
async fn within_deadline<T>(
    read: impl Future<Output = Result<T, slatedb::Error>> + Send,
) -> Result<T, ReadError> {
    match tokio::time::timeout(READ_DEADLINE, read).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(read_error(error)),
        Err(_elapsed) => Err(ReadError::Unavailable(
            "the store did not answer in time".into(),
        )),
    }
}

fn read_error(error: slatedb::Error) -> ReadError {
    match error.kind() {
        ErrorKind::Data => ReadError::Corrupt(Arc::new(error)),
        ErrorKind::Closed(_) | ErrorKind::Unavailable => {
            ReadError::Unavailable(error.to_string().into())
        }
        // The rest cannot be caused by a read: it is our mistake or SlateDB's, and nothing a caller could mend.
        _ => ReadError::Corrupt(Arc::new(error)),
    }
}

/// Closes the database. What is only in the log stays there: replaying it is quicker than keeping an operator waiting.
async fn close_database(opened: &Opened) {
    let options = slatedb::config::CloseOptions::default().with_flush_type(None);
    match tokio::time::timeout(FLUSH_DEADLINE, opened.db.close_with_options(options)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(%error, range = %opened.range, "the database did not close cleanly")
        }
        Err(_elapsed) => {
            tracing::warn!(range = %opened.range, "the database did not close in time")
        }
    }
}

#[cfg(test)]
mod tests;
