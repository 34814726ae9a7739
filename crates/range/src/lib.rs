//! One range: a contiguous piece of the key space, served by one process at a time.
//!
//! Rows are bytes here; the crate `table` interprets them. A range serializes writers of one row, commits their
//! batches, and reads only durable rows.
//!
//! The path of a write: [`Range::lock`] the keys, [`Locked::read`] the current rows, decide, [`Locked::commit`]. After
//! that the engine's commit loop owns the locks, the cache update and the response: dropping the caller's future does
//! not stop the write.
//!
//! In a split or merge, the writes to the old range are recorded ([`Range::follow`]) while the new ranges are created.
//! Then the old range is frozen: new writes are refused with [`InTransit`], running writes finish, reads continue. The
//! new ranges replace it in the partition map, and its engine closes when the last reader has dropped the range.
//!
//! Invariants:
//! - a row is changed only under its lock, and the lock is held until the change is durable (or its outcome is
//!   unknown);
//! - so the row read under a lock is durable, and a crash cannot invalidate a response that is based on it;
//! - the cache holds only durable rows, never older than the last acknowledged write.

mod cache;
mod follow;
mod gate;
mod lock_table;
#[cfg(feature = "planted-bugs")]
mod planted;
mod range;
mod row_memory;

pub use cache::CacheStats;
pub use follow::FollowError;
pub use partita_engine::RangeId;
pub use partita_heat::Bounds;
pub use range::{
    FLUSH_MARKER_KEY, Follower, InTransit, Locked, Range, RequestStats, keys_within, submit,
};
pub use row_memory::RowMemory;
