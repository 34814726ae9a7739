//! A served range: its rows, its gate, its locks and its heat.

mod locked;

pub use locked::Locked;

use crate::RowMemory;
use crate::follow::FollowError;
use crate::gate::Gate;
#[cfg(not(feature = "planted-bugs"))]
use crate::lock_table::LockTable;
#[cfg(feature = "planted-bugs")]
use crate::planted::LockTable;
use crate::row_memory::CachedRows;
use bytes::Bytes;
use partita_engine::{
    Batch, Engine, KeyRange, RangeId, ReadError, Scan, ScanHint, Write, WriteError,
};
use partita_heat::{Access, Bounds, Heat, Request};
use partita_model::{container_prefix, indivisible_prefix};
use std::convert::Infallible;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The key of flush markers, which are written only as deletions. No table or entity key begins with this byte.
pub const FLUSH_MARKER_KEY: &[u8] = b"\0mark";

/// The range refuses writes: it is being split or merged, or was replaced. The partition map lists its replacements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the range is being split or merged; look it up again")]
pub struct InTransit;

/// A served range.
pub struct Range {
    id: RangeId,
    bounds: Bounds,
    engine: Arc<dyn Engine>,
    locks: Arc<LockTable>,
    rows: CachedRows,
    heat: Heat,
    gate: Arc<Gate>,
    /// Dropped with the range, which closes the receiver.
    _alive: Option<oneshot::Sender<Infallible>>,
}

/// The range of keys between the bounds.
#[must_use]
pub fn keys_within(bounds: &Bounds) -> KeyRange {
    let end = bounds.end.clone();
    KeyRange {
        start: Bound::Included(bounds.start.clone()),
        end: end.map_or(Bound::Unbounded, Bound::Excluded),
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Range {
    /// A range that serves the rows of `engine` between these bounds. Begins a tenure: no row that `memory` cached
    /// before is used.
    #[must_use]
    pub fn new(
        id: RangeId,
        bounds: Bounds,
        engine: Arc<dyn Engine>,
        memory: Arc<RowMemory>,
    ) -> Self {
        #[cfg(feature = "planted-bugs")]
        let engine = partita_engine::planted::plant(engine, bounds.end.clone());
        Self {
            id,
            bounds,
            engine,
            locks: LockTable::new(),
            rows: CachedRows::begin(memory),
            heat: Heat::new(Instant::now()),
            gate: Arc::default(),
            _alive: None,
        }
    }

    /// Continues the tenure of the ranges that a split or merge replaces by this range, so that their cached rows stay
    /// valid. Only for ranges that replace all of `old` in the same process, without a write by another process between.
    /// Ranges of different tenures cannot be continued; then this range keeps its own.
    #[must_use]
    pub fn continuing(mut self, old: &[Arc<Self>]) -> Self {
        if let Some((first, others)) = old.split_first()
            && others
                .iter()
                .all(|other| other.rows.is_same_tenure(&first.rows))
        {
            self.rows = first.rows.clone();
        }
        self
    }

    /// Sets a sender that is dropped with the range: its receiver is closed when the last reader ends.
    #[must_use]
    pub fn with_drop_signal(mut self, alive: oneshot::Sender<Infallible>) -> Self {
        self._alive = Some(alive);
        self
    }

    /// The bounds of its keys.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Its heat.
    #[must_use]
    pub fn heat(&self) -> &Heat {
        &self.heat
    }

    /// Counts a finished entity request. Catalog reads are not counted, because each entity request makes one.
    pub fn note(&self, key: &[u8], access: Access, done: RequestStats) {
        let (Some(table), Some(partition)) = (container_prefix(key), indivisible_prefix(key))
        else {
            return;
        };
        self.heat.record(&Request {
            partition,
            table_bytes: table.len(),
            access,
            rows: u32::try_from(done.rows).unwrap_or(u32::MAX),
            bytes_in: done.bytes_in as u64,
            bytes_out: done.bytes_out as u64,
            latency: done.latency,
        });
    }

    /// Refuses new writes, and waits until running writes are durable or refused. Reads continue. Cancel safe: after a
    /// cancel the range stays frozen until [`Range::thaw`].
    pub async fn freeze(&self) {
        self.gate.freeze().await;
        #[cfg(feature = "planted-bugs")]
        if partita_engine::planted::is_active("stale-map") {
            self.thaw();
        }
    }

    /// Accepts writes again.
    pub fn thaw(&self) {
        self.gate.thaw();
    }

    /// Records every write that finishes from now on, until the follower is dropped; one follower at a time. A flush
    /// after this call writes all earlier rows to the engine's files.
    #[must_use]
    pub fn follow(self: &Arc<Self>) -> Follower {
        self.gate.follow().begin();
        Follower {
            gate: Arc::clone(&self.gate),
        }
    }

    /// Whether the range refuses writes.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.gate.is_frozen()
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> RangeId {
        self.id
    }

    /// The engine that stores the rows.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// A row, as of the last durable write. Cancel safe.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        if container_prefix(key).is_none() {
            // Reads of the catalog are not counted in the heat.
            return self.find(key).await;
        }
        let began = Instant::now();
        let row = self.find(key).await?;
        let done = RequestStats {
            rows: usize::from(row.is_some()),
            bytes_out: row.as_ref().map_or(0, |row| key.len() + row.len()),
            latency: began.elapsed(),
            ..RequestStats::default()
        };
        self.note(key, Access::Read, done);
        Ok(row)
    }

    async fn find(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        if let Some(row) = self.rows.get(key) {
            return Ok(Some(row));
        }
        // Not cached if the range is frozen: it may already be replaced, and the new range may have written a newer
        // row. Nor while a write holds the lock: the engine may show its row before it is acknowledged.
        self.rows
            .get_or_read(
                key,
                || !self.is_frozen() && !self.locks.is_held(key),
                async || self.engine.get(key).await,
            )
            .await
    }

    /// The rows of a key range, as one snapshot of durable state. Does not fill the entity cache.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        self.engine.scan(range, hint).await
    }

    /// Writes a flush marker and flushes it. The engine deletes only files older than the newest flushed file, so
    /// without a marker the files replaced by a compaction would stay until the next write. Does nothing to a range in
    /// transit.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn write_flush_marker(&self) -> Result<(), WriteError> {
        let Some(pass) = self.gate.enter() else {
            return Ok(());
        };
        let mut batch = Batch::with_capacity(1);
        batch.delete(Bytes::from_static(FLUSH_MARKER_KEY));
        let written = submit(&*self.engine, batch).await?;
        written.await.unwrap_or(Err(WriteError::Unknown))?;
        // The pass is returned before the flush, which may be slow, so that a freeze does not wait for the flush.
        drop(pass);
        self.engine.flush().await
    }

    /// Locks the keys of a write, which must be in this range. Waits for other writers of the keys. Cancel safe.
    ///
    /// # Errors
    /// [`InTransit`]: no key is locked; look up the range again.
    pub async fn lock<'k>(
        self: &Arc<Self>,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<Locked, InTransit> {
        let pass = self.gate.enter().ok_or(InTransit)?;
        let locks = self.locks.lock(keys).await;
        Ok(Locked::new(Arc::clone(self), locks, pass))
    }
}

/// Submits a batch to an engine without locks, for ranges that no client writes to. The receiver gets the result.
///
/// # Errors
/// [`WriteError::Refused`]: nothing was written.
pub async fn submit(
    engine: &dyn Engine,
    batch: Batch,
) -> Result<oneshot::Receiver<Result<(), WriteError>>, WriteError> {
    let permit = engine.reserve(batch.bytes()).await?;
    let (answer, answered) = oneshot::channel();
    let done = Box::new(move |result| {
        // Fails if the caller was dropped.
        let _ = answer.send(result);
    });
    permit.submit(batch, done);
    Ok(answered)
}

/// The recorded writes to a range; dropping it ends the recording.
#[derive(Debug)]
pub struct Follower {
    gate: Arc<Gate>,
}

impl Follower {
    /// Returns the writes since the last call, in the order in which they became durable, and their bytes. Complete
    /// once the range is frozen.
    ///
    /// # Errors
    /// [`FollowError`]: some writes are missing, and later calls fail too.
    pub fn take(&self) -> Result<(Vec<Write>, usize), FollowError> {
        self.gate.follow().take()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.gate.follow().end();
    }
}

/// The cost of a request, for [`Range::note`].
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestStats {
    /// Rows read or changed.
    pub rows: usize,
    /// Bytes of keys and rows written.
    pub bytes_in: usize,
    /// Bytes of keys and rows read.
    pub bytes_out: usize,
    /// From arrival to outcome.
    pub latency: Duration,
}

#[cfg(test)]
mod tests;
