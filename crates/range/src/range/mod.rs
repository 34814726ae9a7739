//! The range itself.

use crate::RowMemory;
use crate::follow::Lost;
use crate::gate::{Gate, Pass};
use crate::heat::{Access, Heat, Request};
use crate::lock_table::{LockTable, Locks};
use bytes::Bytes;
use partita_engine::{
    Batch, Engine, KeyRange, RangeId, ReadError, Scan, ScanHint, Write, WriteError,
};
use partita_model::{indivisible_prefix, table_prefix};
use partita_rt::{Bug, is_planted};
use std::convert::Infallible;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// From so many keys on, one scan is tried before single reads: opening it costs as much as several of them.
const SCAN_KEYS_MIN: usize = 8;
/// Bytes of rows that such a scan reads at most: foreign rows between the keys may be large.
const SCAN_BYTES_MAX: usize = 256 << 10;
/// Rows and bytes read at a time to learn the keys: about a millisecond's work.
const LEARN_ROWS: usize = 1024;
const LEARN_BYTES: usize = 1 << 20;
/// How long to wait for an engine that cannot be read now.
const LEARN_PAUSE: Duration = Duration::from_secs(5);
/// A key that nothing else has, and that is only ever removed: no kind of key begins with this byte.
const MARK_KEY: &[u8] = b"\0mark";
/// How long a planted bug leaves its door open.
const PLANTED_PAUSE: Duration = Duration::from_millis(2);

/// The range takes no writes now: it is being split or merged, or was, and the partition map knows what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the range is in transit")]
pub struct InTransit;

/// A served range.
pub struct Range {
    id: RangeId,
    bounds: Bounds,
    engine: Arc<dyn Engine>,
    locks: Arc<LockTable>,
    memory: Arc<RowMemory>,
    heat: Heat,
    /// Whether the key filter has all keys of this range.
    keys_known: AtomicBool,
    gate: Arc<Gate>,
    /// Replaced for good.
    retired: AtomicBool,
    /// Dropped with the range: whoever waits for its last reader holds the other end.
    _alive: Option<oneshot::Sender<Infallible>>,
}

/// Where a range begins and ends in the key space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Its first key; empty for the first range.
    pub start: Bytes,
    /// The first key behind it; `None` for the last range.
    pub end: Option<Bytes>,
}

impl Bounds {
    /// The whole key space.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            start: Bytes::new(),
            end: None,
        }
    }

    /// Whether a key lies between them.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start <= key && self.end.as_ref().is_none_or(|end| key < end)
    }

    /// All keys between them.
    #[must_use]
    pub fn keys(&self) -> KeyRange {
        let end = self.end.clone();
        KeyRange {
            start: Bound::Included(self.start.clone()),
            end: end.map_or(Bound::Unbounded, Bound::Excluded),
        }
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
    /// Serves what the engine holds between these bounds.
    #[must_use]
    pub fn new(
        id: RangeId,
        bounds: Bounds,
        engine: Arc<dyn Engine>,
        memory: Arc<RowMemory>,
    ) -> Self {
        Self {
            id,
            bounds,
            engine,
            locks: LockTable::new(),
            memory,
            heat: Heat::new(Instant::now()),
            keys_known: AtomicBool::new(false),
            gate: Arc::default(),
            retired: AtomicBool::new(false),
            _alive: None,
        }
    }

    /// With keys that the key filter has already: those of the ranges it was made from.
    #[must_use]
    pub fn with_known_keys(mut self, known: bool) -> Self {
        self.keys_known = AtomicBool::new(known);
        self
    }

    /// With somebody who is told, by the other end being dropped, that nobody holds this range any more.
    #[must_use]
    pub fn with_watcher(mut self, alive: oneshot::Sender<Infallible>) -> Self {
        self._alive = Some(alive);
        self
    }

    /// Where it lies in the key space.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Whether the key filter has all its keys.
    #[must_use]
    pub fn knows_keys(&self) -> bool {
        self.keys_known.load(Ordering::Acquire)
    }

    /// How hot it is.
    #[must_use]
    pub fn heat(&self) -> &Heat {
        &self.heat
    }

    /// Counts a request of entities that is over. Requests of the catalog are not counted: each request of an entity makes one.
    pub fn note(&self, key: &[u8], access: Access, done: Done) {
        let (Some(table), Some(partition)) = (table_prefix(key), indivisible_prefix(key)) else {
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

    /// Takes no writes from now on, and waits until those under way are durable or refused. Reads go on. Cancel safe: dropped
    /// early, the range stays frozen until [`Range::thaw`].
    pub async fn freeze(&self) {
        self.gate.freeze().await;
    }

    /// Takes writes again.
    pub fn thaw(&self) {
        self.gate.thaw();
    }

    /// Remembers what is written from now on until the follower is dropped: one at a time. Any write that is not remembered was
    /// acknowledged before, and is in the files after a flush.
    #[must_use]
    pub fn follow(self: &Arc<Self>) -> Follower {
        self.gate.follow().begin();
        Follower {
            gate: Arc::clone(&self.gate),
        }
    }

    /// Says that the range, which is frozen, was replaced for good: it stops what it does of its own accord.
    pub fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Whether it takes no writes.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.gate.is_frozen()
    }

    /// Its identity.
    #[must_use]
    pub const fn id(&self) -> RangeId {
        self.id
    }

    /// What keeps the rows.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// A row, as of the last durable write. Cancel safe.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        if table_prefix(key).is_none() {
            // Of the catalog, which is not counted.
            return self.find(key).await;
        }
        let began = Instant::now();
        let row = self.find(key).await?;
        let done = Done {
            rows: usize::from(row.is_some()),
            bytes_out: row.as_ref().map_or(0, Bytes::len),
            latency: began.elapsed(),
            ..Done::default()
        };
        self.note(key, Access::Read, done);
        Ok(row)
    }

    async fn find(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        if let Some(row) = self.memory.cache.get(key) {
            return Ok(Some(row));
        }
        if self.is_surely_absent(key) {
            return Ok(None);
        }
        // A frozen range may be replaced already, and a newer row written through the one that replaced it.
        self.memory
            .cache
            .get_or_read(
                key,
                || !self.is_frozen(),
                async || self.engine.get(key).await,
            )
            .await
    }

    /// Whether the key filter can tell that there is no such row, nor one being written.
    fn is_surely_absent(&self, key: &[u8]) -> bool {
        let absent = self.knows_keys() && !self.memory.keys.may_contain(key);
        if absent {
            self.memory.absent.fetch_add(1, Ordering::Relaxed);
        }
        absent
    }

    /// Reads all keys once, so that absent ones need no look-up from then on. Works at most a quarter of the time: requests
    /// come first; while the engine cannot be read it tries again. Cancel safe; dropped early, look-ups stay as they were.
    ///
    /// # Errors
    /// [`ReadError::Closed`], also once the range is retired; [`ReadError::Corrupt`].
    pub async fn learn_keys(&self) -> Result<(), ReadError> {
        while let Err(error) = self.read_keys().await {
            if !matches!(error, ReadError::Unavailable(_)) {
                return Err(error);
            }
            tokio::time::sleep(LEARN_PAUSE).await;
        }
        self.keys_known.store(true, Ordering::Release);
        Ok(())
    }

    async fn read_keys(&self) -> Result<(), ReadError> {
        let keys = self.bounds.keys();
        let mut scan = self.engine.scan(keys, ScanHint::walk()).await?;
        loop {
            let began = Instant::now();
            let rows = scan.next(LEARN_ROWS, LEARN_BYTES).await?;
            if rows.is_empty() {
                return Ok(());
            }
            if self.retired.load(Ordering::Acquire) {
                return Err(ReadError::Closed);
            }
            for (key, _) in &rows {
                self.memory.keys.add(key);
            }
            tokio::time::sleep(began.elapsed() * 3).await;
        }
    }

    /// The rows of a piece of the key space, as one snapshot of durable state. Does not fill the entity cache.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        self.engine.scan(range, hint).await
    }

    /// Writes a mark and moves it to a file. The engine removes no file that is newer than the newest one it flushed, so without
    /// this the files that a rewrite replaced would stay until somebody writes.
    ///
    /// # Errors
    /// [`WriteError`]; a range in transit is left alone.
    pub async fn mark(&self) -> Result<(), WriteError> {
        let Some(pass) = self.gate.enter() else {
            return Ok(());
        };
        let mut batch = Batch::with_capacity(1);
        batch.delete(Bytes::from_static(MARK_KEY));
        let permit = self.engine.reserve(batch.bytes()).await?;
        let (answer, answered) = oneshot::channel();
        let done = Box::new(move |result| {
            // Nobody listens when the caller has gone.
            let _ = answer.send(result);
        });
        permit.submit(batch, done);
        answered.await.unwrap_or(Err(WriteError::Unknown))?;
        // A flush may take long, and whoever freezes the range need not wait for it.
        drop(pass);
        self.engine.flush().await
    }

    /// Locks the keys of a write, which lie in this range, waiting for other writers of them. Cancel safe.
    ///
    /// # Errors
    /// [`InTransit`]: nothing happened; ask the partition map again.
    pub async fn lock<'k>(
        self: &Arc<Self>,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<Locked, InTransit> {
        let pass = self.gate.enter().ok_or(InTransit)?;
        let locks = self.locks.lock(keys).await;
        let range = Arc::clone(self);
        Ok(Locked {
            range,
            locks,
            pass,
            began: Instant::now(),
            found_absent: AtomicBool::new(false),
        })
    }
}

/// Remembers what is written to a range.
#[derive(Debug)]
pub struct Follower {
    gate: Arc<Gate>,
}

impl Follower {
    /// What was written since it was last asked, in the order in which it became durable, with its bytes. Once the range is frozen
    /// that is all.
    ///
    /// # Errors
    /// [`Lost`]: not all of it is known, and never will be.
    pub fn take(&self) -> Result<(Vec<Write>, usize), Lost> {
        self.gate.follow().take()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.gate.follow().end();
    }
}

/// Keys of a range under lock. Dropping it releases them, with nothing changed.
#[derive(Debug)]
pub struct Locked {
    range: Arc<Range>,
    locks: Locks,
    pass: Pass,
    began: Instant,
    /// A key was not there when it was read: what is written is, in part, new.
    found_absent: AtomicBool,
}

/// What a request did, for [`Range::note`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// Rows read or changed.
    pub rows: usize,
    /// Bytes it wrote.
    pub bytes_in: usize,
    /// Bytes it read.
    pub bytes_out: usize,
    /// How long it took.
    pub latency: Duration,
}

impl Locked {
    /// The current row of a key under lock. Cancel safe.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        // A miss is not kept: the row is about to change.
        let row = match self.range.memory.cache.get(key) {
            Some(row) => Some(row),
            None if self.range.is_surely_absent(key) => None,
            None => self.range.engine.get(key).await?,
        };
        if row.is_none() {
            self.found_absent.store(true, Ordering::Relaxed);
        }
        Ok(row)
    }

    /// The current rows of several keys under lock, in their order. Cancel safe.
    ///
    /// Looking a key up costs about as much when it is absent as when it is there, and the keys of a transaction are
    /// neighbours more often than not: one short scan over them all then finds what is there. Where other rows lie between
    /// them, what the scan did not come to is looked up key by key.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, ReadError> {
        let cache = &self.range.memory.cache;
        let mut rows: Vec<Option<Bytes>> = keys.iter().map(|key| cache.get(key)).collect();
        let mut missing = Vec::new();
        for (at, (key, row)) in keys.iter().zip(&rows).enumerate() {
            if row.is_none() && !self.range.is_surely_absent(key) {
                missing.push(at);
            }
        }
        if missing.len() >= SCAN_KEYS_MIN {
            self.scan_for(keys, &mut missing, &mut rows).await?;
        }
        for at in missing {
            if let (Some(key), Some(row)) = (keys.get(at), rows.get_mut(at)) {
                *row = self.range.engine.get(key).await?;
            }
        }
        if rows.iter().any(Option::is_none) {
            self.found_absent.store(true, Ordering::Relaxed);
        }
        Ok(rows)
    }

    /// Reads a little from the first missing key on, and takes off `missing` what it has settled.
    async fn scan_for(
        &self,
        keys: &[Bytes],
        missing: &mut Vec<usize>,
        rows: &mut [Option<Bytes>],
    ) -> Result<(), ReadError> {
        missing.sort_unstable_by_key(|&at| keys.get(at));
        let key_of = |at: Option<&usize>| at.and_then(|&at| keys.get(at)).cloned();
        let (Some(first), Some(last)) = (key_of(missing.first()), key_of(missing.last())) else {
            return Ok(());
        };
        let range = KeyRange {
            start: Bound::Included(first),
            end: Bound::Included(last),
        };
        let rows_max = missing.len() * 2;
        let mut scan = self
            .range
            .engine
            .scan(range, ScanHint::page(rows_max))
            .await?;
        let found = scan.next(rows_max, SCAN_BYTES_MAX).await?;
        let whole = found.len() < rows_max && scan.next(1, 1).await?.is_empty();
        let behind = found.last().map(|(key, _)| key.clone());
        let mut found = found.into_iter().peekable();
        missing.retain(|&at| {
            let (Some(key), Some(row)) = (keys.get(at), rows.get_mut(at)) else {
                return false;
            };
            while found.next_if(|(there, _)| there < key).is_some() {}
            if let Some((_, value)) = found.peek().filter(|(there, _)| there == key) {
                *row = Some(value.clone());
            }
            !whole && behind.as_ref().is_none_or(|behind| key > behind)
        });
        Ok(())
    }

    /// Commits the first half of a batch and returns the second: a bug, see [`Bug::HalfBatch`].
    async fn commit_half(&self, batch: Batch) -> Result<Batch, WriteError> {
        let mut halves = [Batch::new(), Batch::new()];
        let middle = batch.len() / 2;
        for (at, write) in batch.into_writes().into_iter().enumerate() {
            let half = &mut halves[usize::from(at >= middle)];
            match write.value {
                Some(value) => half.put(write.key, value),
                None => half.delete(write.key),
            }
        }
        let [first, second] = halves;
        let permit = self.range.engine.reserve(first.bytes()).await?;
        permit.submit(first, Box::new(|_| ()));
        tokio::time::sleep(PLANTED_PAUSE).await;
        Ok(second)
    }

    /// Makes the batch durable, all of it or nothing; every key of it must be under this lock.
    ///
    /// Cancel safe in this sense: dropped before the engine has room, nothing happens; after that the write goes on, the
    /// locks are released when it is durable, and only the answer is lost.
    ///
    /// # Errors
    /// [`WriteError::Refused`]: nothing happened. [`WriteError::Unknown`]: it may have happened.
    pub async fn commit(self, mut batch: Batch) -> Result<(), WriteError> {
        if is_planted(Bug::HalfBatch) && batch.len() > 1 {
            batch = self.commit_half(batch).await?;
        }
        let permit = self.range.engine.reserve(batch.bytes()).await?;
        let (answer, answered) = oneshot::channel();
        let Self {
            range,
            locks,
            pass,
            began,
            found_absent,
        } = self;
        let memory = Arc::clone(&range.memory);
        let writes = batch.writes().to_vec();
        let is_new = found_absent.into_inner() && writes.iter().any(|write| write.value.is_some());
        let access = if is_new {
            Access::Insert
        } else {
            Access::Write
        };
        let first = writes.first().map(|write| write.key.clone());
        let mut done = Done {
            rows: writes.len(),
            bytes_in: batch.bytes(),
            ..Done::default()
        };
        // Before the engine has them: nobody may find a key absent that is there.
        for write in writes.iter().filter(|write| write.value.is_some()) {
            if !is_planted(Bug::FilterForgets) {
                memory.keys.add(&write.key);
            }
        }
        if is_planted(Bug::ReadNotDurable) {
            for write in writes.iter().cloned() {
                memory.cache.set(write.key, write.value);
            }
            tokio::time::sleep(PLANTED_PAUSE).await;
        }
        permit.submit(
            batch,
            Box::new(move |result| {
                pass.note(&writes, result);
                for write in writes {
                    match result {
                        Ok(()) if is_planted(Bug::CacheKeepsOld) => {}
                        Ok(()) => memory.cache.set(write.key, write.value),
                        Err(_) => memory.cache.forget(&write.key),
                    }
                }
                drop(locks);
                drop(pass);
                // Fails when the caller has gone; the write stands.
                let _ = answer.send(result);
            }),
        );
        // A completion dropped unanswered says nothing of the write.
        let result = answered.await.unwrap_or(Err(WriteError::Unknown));
        done.latency = began.elapsed();
        if let Some(key) = first {
            range.note(&key, access, done);
        }
        result
    }
}

#[cfg(test)]
mod tests;
