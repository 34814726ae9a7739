//! The seam between the rooms above and whatever keeps the rows.

use std::ops::Bound;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{ChangeError, Collected, FileLayout, Health, Permit, ReadError, WriteError};

/// Ordered byte keys with atomic, durable batches. Used as `Arc<dyn Engine>`.
///
/// # What every engine promises
/// - **Order.** Keys compare as bytes. Batches take effect in the order they were submitted, and their completions are
///   called in that order.
/// - **Durability.** A completion that says `Ok` is called after the batch would survive a power cut (an in-memory engine:
///   for as long as it lives).
/// - **Only durable answers.** `get` and `scan` show only batches whose completion is, or is about to be, called with `Ok`.
///   What they show is never taken back by a crash.
/// - **Read your writes.** A `get` or `scan` that starts after a batch's completion was called with `Ok` sees the batch,
///   also when it starts inside that completion.
/// - **Atomicity.** No reader sees some writes of a batch without the others.
/// - **Refused or unknown.** See [`WriteError`]. A batch that was refused never takes effect.
///
/// The caller must not have two batches with a common key in flight unless it does not care which error one of them gets:
/// the engine keeps their order, and nothing more.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Takes room for a batch of `bytes` ([`crate::Batch::bytes`]), so that [`Permit::submit`] need neither wait nor fail.
    ///
    /// Waits while too much is in flight, a few seconds at most. Cancel safe: nothing is taken when the future is dropped.
    /// Dropping the permit gives the room back.
    ///
    /// # Errors
    /// Always [`WriteError::Refused`]: closed, disk full, recovering, no room within the deadline, or larger than the
    /// engine takes at all.
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError>;

    /// The value of `key`, or `None`. Cancel safe.
    ///
    /// # Errors
    /// See [`ReadError`]; any read can be tried again.
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError>;

    /// Starts reading the rows of `range` in key order, as one snapshot taken now. Cancel safe.
    ///
    /// # Errors
    /// See [`ReadError`].
    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError>;

    /// How it lies in its files. Takes some microseconds.
    fn file_layout(&self) -> FileLayout;

    /// Whether reads and writes are served now. Cheap.
    fn health(&self) -> Health;

    /// Moves what is only in the log into the store's own files, so that a following open has nothing to replay. Durability
    /// does not need it. Cancel safe: the work goes on.
    ///
    /// # Errors
    /// [`WriteError::Refused`] when the engine is closed, recovering, or the store has no room.
    async fn flush(&self) -> Result<(), WriteError>;

    /// Writes its rows into files of its own, as few as they fit, so that it shares none with the databases it was derived
    /// from. Asks for the work and returns; [`Engine::file_layout`] shows when it is done. Asking again while it waits or runs is no error
    /// and adds nothing. A request that was not begun is forgotten when the engine is closed.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn detach(&self) -> Result<(), ChangeError>;

    /// Removes now what of its files nobody needs any more, and lets go of the databases whose files it no longer reads. Happens
    /// by itself every minute. What a scan may still read stays for now and goes later, unless it says otherwise.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn collect(&self) -> Result<Collected, ChangeError>;

    /// Keeps the files that its rows are in now from being removed, for a time (whole seconds, at least one), whatever is compacted
    /// meanwhile; removing the database removes them all the same. Rows that are only in memory are in no file: flush first.
    /// Returns the name under which the store knows it. Cancel safe: it may be there.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn checkpoint(&self, lifetime: Duration) -> Result<String, ChangeError>;

    /// Ends the engine: later calls are refused, batches already submitted are finished first, background work stops.
    /// Idempotent. Dropping an engine without closing it loses nothing that was acknowledged.
    async fn close(&self);
}

/// Rows being read in key order, from one snapshot.
#[async_trait]
pub trait Scan: Send {
    /// The next rows: at most `rows_max`, and no more once they hold `bytes_max` bytes of keys and values (at least one row
    /// is returned if there is one, however large). Empty means the end; also when called again.
    ///
    /// Cancel safe only in that nothing breaks: rows of a call that was dropped halfway are lost to this scan.
    ///
    /// # Errors
    /// See [`ReadError`]. After an error the scan is over.
    async fn next(
        &mut self,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, ReadError>;
}

/// A contiguous piece of the key space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub start: Bound<Bytes>,
    /// Where it ends. A range that ends before it begins is empty, and no error.
    pub end: Bound<Bytes>,
}

impl KeyRange {
    /// All keys.
    #[must_use]
    pub fn all() -> Self {
        Self {
            start: Bound::Unbounded,
            end: Bound::Unbounded,
        }
    }

    /// From `start` to before `end`.
    #[must_use]
    pub fn half_open(start: Bytes, end: Bytes) -> Self {
        Self {
            start: Bound::Included(start),
            end: Bound::Excluded(end),
        }
    }

    /// Whether no key can be in it.
    #[must_use]
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

/// What the caller expects of a scan. A wrong hint costs time, never rows.
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
    #[must_use]
    pub fn page(rows: usize) -> Self {
        Self {
            rows,
            bytes: rows.saturating_mul(1024),
            cache: true,
        }
    }

    /// A walk over everything, which must not push useful blocks out of the cache.
    #[must_use]
    pub fn walk() -> Self {
        Self {
            rows: usize::MAX,
            bytes: usize::MAX,
            cache: false,
        }
    }
}
