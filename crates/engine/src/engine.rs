//! The seam between the crates above and the database of one range.

use std::ops::Bound;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{ChangeError, Health, Permit, ReadError, WriteError};

/// Ordered byte keys with atomic, durable batches. Used as `Arc<dyn Engine>`.
///
/// # What every engine promises
/// - **Order.** Keys compare as bytes. Batches take effect in the order they were submitted, and their completions are
///   called in that order.
/// - **Durability.** A completion that says `Ok` is called after the batch would survive a power cut (an in-memory engine:
///   for as long as it lives).
/// - **Only durable answers.** `get` and `scan` show only batches whose completion is, or is about to be, called with `Ok`. A crash never
///   takes them back.
/// - **Read your writes.** A `get` or `scan` that starts after a batch's completion was called with `Ok` sees the batch,
///   also when it starts inside that completion.
/// - **Atomicity.** No reader sees some writes of a batch without the others.
/// - **Refused or unknown.** See [`WriteError`]. A batch that was refused never takes effect.
///
/// For two batches in flight with a common key, the engine guarantees only the order. A caller that must know which of them failed
/// submits the second after the first is answered.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Reserves room for a batch of `bytes` ([`crate::Batch::bytes`]), so that [`Permit::submit`] need neither wait nor fail.
    ///
    /// Waits while too much is in flight, a few seconds at most. Cancel safe: a dropped future reserves nothing, a dropped permit returns
    /// its room.
    ///
    /// # Errors
    /// Always [`WriteError::Refused`]: closed, disk full, recovering, no room within the deadline, or larger than the
    /// engine takes at all.
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError>;

    /// The value of `key`, or `None`. Cancel safe.
    ///
    /// # Errors
    /// See [`ReadError`]; any read can be retried.
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError>;

    /// Starts reading the rows of `range` in key order, as one snapshot taken now. Cancel safe.
    ///
    /// # Errors
    /// See [`ReadError`].
    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError>;

    /// Its layout in files. Takes some microseconds.
    fn file_layout(&self) -> FileLayout;

    /// Whether reads and writes are served now. Cheap.
    fn health(&self) -> Health;

    /// Moves rows that are only in the WAL and in memory to the store's files, so that the next open has nothing to replay. Durability does
    /// not need it. Cancel safe: the work goes on.
    ///
    /// # Errors
    /// [`WriteError::Refused`] when the engine is closed, recovering, or the store has no room.
    async fn flush(&self) -> Result<(), WriteError>;

    /// Requests a full compaction: it rewrites the rows into files of this database alone, as few as possible, so that it shares none
    /// with the databases it was cloned from. Returns at once; [`Engine::file_layout`] shows when it is done. A second request while one
    /// waits or runs has no effect. Closing the engine drops a request that has not begun.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be retried.
    async fn detach(&self) -> Result<(), ChangeError>;

    /// Collects garbage now: removes files that nothing reads, and detaches from databases whose files it no longer reads. Happens by
    /// itself every minute. Files that a running scan may read stay for a later collection.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be retried.
    async fn collect(&self) -> Result<Collected, ChangeError>;

    /// Keeps its present files from being removed for a time (whole seconds, at least one), also while they are compacted. Removing the
    /// database removes them nevertheless. Rows that are only in memory are in no file: flush first. Returns the name of the checkpoint in
    /// the store. Cancel safe: the checkpoint may exist.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be retried.
    async fn checkpoint(&self, lifetime: Duration) -> Result<String, ChangeError>;

    /// Closes the engine: finishes the submitted batches, refuses later calls, stops background work. Idempotent. Dropping an engine
    /// without closing it loses no acknowledged batch.
    async fn close(&self);
}

/// Rows being read in key order, from one snapshot.
#[async_trait]
pub trait Scan: Send {
    /// The next rows: at most `rows_max`, and none after the one that reaches `bytes_max` bytes of keys and values. Returns at least one
    /// row if there is one. Empty means the end; also when called again.
    ///
    /// Dropping the future breaks nothing, but the rows that it has read are lost to this scan.
    ///
    /// # Errors
    /// See [`ReadError`]. After an error the scan is over.
    async fn next(
        &mut self,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, ReadError>;
}

/// A contiguous part of the key space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub start: Bound<Bytes>,
    /// Where it ends. A range that ends before it begins is empty, not an error.
    pub end: Bound<Bytes>,
}

impl KeyRange {
    /// All keys.
    pub fn all() -> Self {
        Self {
            start: Bound::Unbounded,
            end: Bound::Unbounded,
        }
    }

    /// From `start` to before `end`.
    pub fn half_open(start: Bytes, end: Bytes) -> Self {
        Self {
            start: Bound::Included(start),
            end: Bound::Excluded(end),
        }
    }

    /// Whether no key can be in it.
    pub fn is_empty(&self) -> bool {
        match (&self.start, &self.end) {
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end))
            | (Bound::Excluded(start), Bound::Included(end)) => start >= end,
            (Bound::Unbounded, Bound::Excluded(end)) => end.is_empty(),
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        }
    }
}

/// What the caller expects to read. A wrong hint costs time, never rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanHint {
    /// How many rows it will probably read.
    pub rows: usize,
    /// How many bytes it will probably read. Sets the read-ahead: small for pages, large for exports.
    pub bytes: usize,
    /// Whether blocks read from the store are worth keeping in the cache. Off for one-time walks over much data.
    pub cache: bool,
}

impl ScanHint {
    /// A page of a query.
    pub fn page(rows: usize) -> Self {
        Self {
            rows,
            bytes: rows.saturating_mul(1024),
            cache: true,
        }
    }

    /// A walk over all rows, which must not evict useful blocks from the cache.
    pub fn walk() -> Self {
        Self {
            rows: usize::MAX,
            bytes: usize::MAX,
            cache: false,
        }
    }
}

/// The result of a garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collected {
    /// Nothing, or files that later collections remove by themselves.
    All,
    /// Garbage that stays until rows are written and flushed: it is newer than the newest flushed file, as is a file that is about to be
    /// added to the manifest.
    UntilFlush,
}

/// The layout of a database in files, for deciding whether and where to split it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileLayout {
    /// Bytes of its stored rows, without rows that are only in memory: an estimate, good to a file.
    pub bytes: u64,
    /// How many files it reads.
    pub files: u64,
    /// How many other databases it shares files with.
    pub sources: u64,
    /// How many other databases it keeps from being removed: those, and for a while also databases it has detached from.
    pub kept: u64,
    /// The name of the newest file made by a compaction, unless a newer one was flushed.
    pub newest_rewritten: Option<String>,
    /// The first key of each of its files, with the bytes in that file, in key order. Empty where keys are unknown.
    pub files_by_key: Vec<(Bytes, u64)>,
}
