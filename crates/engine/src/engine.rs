//! The interface to the database of one range.

use std::ops::Bound;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{ChangeError, Health, Permit, ReadError, Rows, WriteError};

/// Ordered byte keys with atomic, durable batches. Used as `Arc<dyn Engine>`.
///
/// # Guarantees of every engine
/// - **Order.** Keys compare as bytes. Batches take effect in the order they were submitted, and their completions are
///   called in that order.
/// - **Durability.** A completion is called with `Ok` only once the batch survives a power cut (an in-memory engine:
///   for as long as it lives).
/// - **Only durable answers.** `get` and `scan` show only batches whose completion was called with `Ok` or is about to
///   be. A crash never undoes these batches.
/// - **Read your writes.** A `get` or `scan` that starts after a batch's completion was called with `Ok` sees the
///   batch, also when it starts inside that completion.
/// - **Atomicity.** No reader sees a part of a batch.
/// - **Refused or unknown.** See [`WriteError`]. A batch that was refused never takes effect.
///
/// For two batches in flight with a common key, the engine guarantees only the order. A caller that must tell which
/// batch failed submits the second one after the completion of the first.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Reserves room for a batch of `bytes` ([`crate::Batch::bytes`]), so that [`Permit::submit`] does not wait and
    /// cannot fail.
    ///
    /// Waits while too much is in flight, a few seconds at most. Cancel safe: a dropped future reserves nothing, a
    /// dropped permit frees its reservation.
    ///
    /// # Errors
    /// Always [`WriteError::Refused`]: closed, disk full, recovering, flushes too slow, a damaged file in the range,
    /// pipeline full until the deadline, or batch too large.
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError>;

    /// The value of `key`, or `None`. Cancel safe.
    ///
    /// # Errors
    /// See [`ReadError`]; any read can be retried.
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError>;

    /// The values of several keys, in their order; `None` for a key without a row. Cancel safe. Not one snapshot: a write
    /// may be seen by one of the keys only, unless the caller holds their locks.
    ///
    /// # Errors
    /// See [`ReadError`].
    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, ReadError> {
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            values.push(self.get(key).await?);
        }
        Ok(values)
    }

    /// Starts reading the rows of `range` in key order, as one snapshot taken now. Cancel safe.
    ///
    /// # Errors
    /// See [`ReadError`].
    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError>;

    /// The file layout of the database. Takes some microseconds.
    fn file_layout(&self) -> FileLayout;

    /// Whether reads and writes are served now. Cheap.
    fn health(&self) -> Health;

    /// Moves rows that are only in the WAL and in memory to the store's files, so that the next open has nothing to
    /// replay. Not needed for durability. Cancel safe: the flush continues in the background.
    ///
    /// # Errors
    /// [`WriteError::Refused`] when the engine is closed or recovering, or when the flush failed or timed out, for
    /// example on a full disk.
    async fn flush(&self) -> Result<(), WriteError>;

    /// Waits until the next [`Engine::flush`] would not have to wait for a compaction. Many small flushes fill level 0,
    /// and in an object store it can take ten seconds until a compaction has made room. Cancel safe.
    ///
    /// # Errors
    /// As those of [`Engine::flush`].
    async fn await_flush_room(&self) -> Result<(), WriteError>;

    /// Requests a full compaction, which rewrites all rows into as few files as possible. Afterwards the database
    /// shares no files with the databases it was cloned from. Returns immediately; [`Engine::file_layout`] shows when
    /// it is done. A second request while one waits or runs has no effect. Closing the engine drops a request that has
    /// not started.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be retried.
    async fn detach(&self) -> Result<(), ChangeError>;

    /// Starts what is due of the work that returns space: flushes rows of a database at rest, so that the WAL can be
    /// released, and requests a full compaction of a database with long stretches of deleted rows, or with much unused
    /// space. Does not wait for the compaction. Call it every few seconds; it does nothing for a database that did not
    /// change.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be retried.
    async fn reclaim(&self) -> Result<(), ChangeError>;

    /// Collects garbage now: removes files that nothing reads, and detaches from databases whose files it no longer
    /// reads. Also runs every minute in the background. Files that a running scan may read stay for a later collection.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be retried.
    async fn collect(&self) -> Result<Collected, ChangeError>;

    /// Protects the current files from garbage collection for `lifetime` (whole seconds, at least one), also if a
    /// compaction replaces them. Removing the database still removes them. Does not include rows that are only in
    /// memory: flush first. Returns the name of the checkpoint in the store. Cancel safe, but the checkpoint may exist
    /// afterwards.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be retried.
    async fn checkpoint(&self, lifetime: Duration) -> Result<String, ChangeError>;

    /// Closes the engine: finishes the submitted batches, refuses later calls, stops background work. Idempotent.
    /// Dropping an engine without closing it loses no acknowledged batch.
    async fn close(&self);
}

/// An ordered read of rows from one snapshot.
#[async_trait]
pub trait Scan: Send {
    /// Returns the next rows: at most `rows_max`, ending with the row that reaches `bytes_max` bytes of keys and
    /// values. Returns at least one row unless the scan is at its end; then the result is empty, also on later calls.
    ///
    /// If the future is dropped before it completes, the scan stays usable, but skips the rows that the future had
    /// read.
    ///
    /// # Errors
    /// See [`ReadError`]. After an error the scan is over.
    async fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<Rows, ReadError>;
}

/// A contiguous part of the key space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The start bound.
    pub start: Bound<Bytes>,
    /// The end bound. A range that ends before it begins is empty, not an error.
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

    /// Whether the range contains no keys.
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

/// The expected size of a scan. A wrong hint affects only the speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanHint {
    /// The expected number of rows.
    pub rows: usize,
    /// The expected number of bytes. Sets the read-ahead: small for pages, large for exports.
    pub bytes: usize,
    /// Whether the cache keeps the blocks that the scan reads from the store. Off for one-time scans of large ranges.
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

    /// A scan of all rows, which must not evict useful blocks from the cache.
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
    /// No garbage is left, or only files that a later automatic collection removes.
    All,
    /// Some garbage stays until the next flush: it is newer than the newest flushed file, so it could be a file that is
    /// about to be added to the manifest.
    UntilFlush,
}

/// The file layout of a database: its size, its files, and the databases that it shares files with. Used for splits,
/// merges, maintenance and status.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileLayout {
    /// Estimated bytes of the stored rows, without rows that are only in memory. The error is at most about one file.
    pub bytes: u64,
    /// The number of files that the database reads.
    pub files: u64,
    /// The number of other databases whose files it reads.
    pub sources: u64,
    /// The number of other databases that cannot be removed because of this one: its sources, and for a while also the
    /// databases it has detached from.
    pub kept: u64,
    /// The name of the newest file if a compaction made it; `None` if it was flushed.
    pub newest_rewritten: Option<String>,
    /// The first key and the bytes of each file, in key order. Empty if no rows are in files. The engine in memory has
    /// no files and returns up to 256 parts of its rows instead.
    pub files_by_key: Vec<(Bytes, u64)>,
}
