//! One range: a contiguous piece of the key space, served by one process at a time.
//!
//! Rows are bytes here; `table` gives them meaning. A range serializes writers of one row, commits their batches, and reads only
//! durable rows.
//!
//! The path of a write: [`Range::lock`] the keys, [`Locked::read`] the current rows, decide, [`Locked::commit`]. From then on the
//! engine's commit loop owns the locks, the cache's update and the answer: dropping the caller's future stops nothing.
//!
//! A range that is to be split or merged is followed ([`Range::follow`]) while the ranges that replace it are created. Then it is
//! frozen: new writes are refused with [`InTransit`], those under way finish, reads go on. It is replaced in the partition map,
//! and its engine closes when the last reader has dropped the range.
//!
//! Invariants:
//! - a row is changed only under its lock, and the lock is held until the change is durable (or its outcome is unknown);
//! - so the current row read under a lock is durable, and a crash cannot take back an answer that is based on it;
//! - the cache holds only durable rows, and none older than the last acknowledged write;
//! - the key filter reports "absent" only for keys that were never submitted to the engine.

mod cache;
mod follow;
mod gate;
mod key_filter;
mod lock_table;
#[cfg(feature = "planted-bugs")]
mod planted;
mod range;
mod row_memory;

pub use cache::CacheStats;
pub use follow::FollowError;
pub use partita_engine::RangeId;
pub use partita_heat::Bounds;
pub use range::{Follower, InTransit, Locked, Range, RequestStats, keys_within, submit};
pub use row_memory::{KeyFilterStats, RowMemory};
