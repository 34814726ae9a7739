//! Keys of a range under lock: reading their rows, and writing them.

use super::{Range, RequestStats};
use crate::gate::Pass;
use crate::lock_table::Locks;
use bytes::Bytes;
use partita_engine::{Batch, KeyRange, ReadError, ScanHint, WriteError};
use partita_heat::Access;
use partita_rt::{Clock, SystemClock};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The fewest keys for which one scan is tried before single reads: opening a scan costs as much as several reads.
const SCAN_KEYS_MIN: usize = 8;
/// The most bytes such a scan reads: other rows between the keys may be large.
pub(super) const SCAN_BYTES_MAX: usize = 256 << 10;

/// Keys of a range under lock. Dropping it releases them and changes nothing.
#[derive(Debug)]
pub struct Locked {
    range: Arc<Range>,
    locks: Locks,
    pass: Pass,
    /// The arrival of the request, if a request holds the lock.
    arrived: Option<Instant>,
    /// Whether a key was absent when it was read, so that some of the written rows are new.
    found_absent: AtomicBool,
}

impl Locked {
    pub(super) fn new(range: Arc<Range>, locks: Locks, pass: Pass) -> Self {
        Self {
            range,
            locks,
            pass,
            arrived: None,
            found_absent: AtomicBool::new(false),
        }
    }

    /// For a request that arrived at this time: its latency counts from then on, so that waiting for locks is included.
    #[must_use]
    pub const fn since(mut self, arrived: Instant) -> Self {
        self.arrived = Some(arrived);
        self
    }

    /// Releases the keys without a change, because the condition of the request failed for the row at `key`. Counts as a write of no
    /// rows: it cost locks and a read, so the load of a client that sends only such requests must show. The clock is that of the
    /// arrival.
    pub fn refuse(self, key: &[u8], clock: &dyn Clock) {
        let (range, arrived) = (Arc::clone(&self.range), self.arrived);
        drop(self);
        let latency = arrived.map_or(Duration::ZERO, |arrived| clock.monotonic() - arrived);
        let done = RequestStats {
            latency,
            ..RequestStats::default()
        };
        range.note(key, Access::Write, done);
    }

    /// The current row of a key under lock. Cancel safe.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        // A miss is not cached: the row is about to change.
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
    /// Looking up an absent key costs about as much as an existing one, and the keys of a transaction are usually neighbours: one
    /// short scan then finds the existing rows. Keys that the scan does not reach, because other rows lie between them, are looked
    /// up one by one.
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

    /// Scans a few rows from the first missing key on. Removes from `missing` the keys that the scan passed, found or not.
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

    /// Makes the batch durable, all of it or nothing; every key of it must be under this lock.
    ///
    /// Cancel safe in this sense: dropped before the engine has room, nothing happens; after that the write goes on, the
    /// locks are released when it is durable, and only the answer is lost.
    ///
    /// # Errors
    /// [`WriteError::Refused`]: nothing happened. [`WriteError::Unknown`]: it may have happened.
    pub async fn commit(self, batch: Batch) -> Result<(), WriteError> {
        self.commit_by(batch, &SystemClock).await.map(|_ended| ())
    }

    /// The same; returns when it ended, by the clock of the request's arrival.
    ///
    /// # Errors
    /// Those of [`Locked::commit`].
    pub async fn commit_by(self, batch: Batch, clock: &dyn Clock) -> Result<Instant, WriteError> {
        let began = self.arrived.unwrap_or_else(|| clock.monotonic());
        let permit = self.range.engine.reserve(batch.bytes()).await?;
        let (answer, answered) = oneshot::channel();
        let Self {
            range,
            locks,
            pass,
            found_absent,
            ..
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
        let mut done = RequestStats {
            rows: writes.len(),
            bytes_in: batch.bytes() - writes.len() * Batch::OVERHEAD_BYTES,
            ..RequestStats::default()
        };
        // Before the engine has them, so that no reader takes an existing key for absent.
        for write in writes.iter().filter(|write| write.value.is_some()) {
            memory.keys.add(&write.key);
        }
        permit.submit(
            batch,
            Box::new(move |result| {
                pass.note(&writes, result);
                for write in writes {
                    match result {
                        Ok(()) => memory.cache.set(write.key, write.value),
                        Err(_) => memory.cache.forget(&write.key),
                    }
                }
                drop(locks);
                drop(pass);
                // Fails when the caller is gone; the write stands.
                let _ = answer.send(result);
            }),
        );
        // A completion that was dropped unanswered leaves the outcome unknown.
        let result = answered.await.unwrap_or(Err(WriteError::Unknown));
        let ended = clock.monotonic();
        done.latency = ended - began;
        if let Some(key) = first {
            range.note(&key, access, done);
        }
        result.map(|()| ended)
    }
}
