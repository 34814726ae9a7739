//! Locked keys of a range: reads and writes of their rows.

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

/// The minimum number of keys for a scan instead of single reads: opening a scan costs as much as several reads.
const SCAN_KEYS_MIN: usize = 8;
/// The maximum bytes of the scan in [`Locked::read_many`]: other rows between the keys may be large.
pub(super) const SCAN_BYTES_MAX: usize = 256 << 10;

/// Locked keys of a range. Dropping it releases the locks without a change.
#[derive(Debug)]
pub struct Locked {
    range: Arc<Range>,
    locks: Locks,
    pass: Pass,
    /// The arrival time of the request, if a request holds the lock.
    arrived: Option<Instant>,
    /// Whether at least one key was absent when it was read, so that at least one written row is new.
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

    /// Sets the arrival time of the request, from which its latency is measured, so that the wait for locks is
    /// included.
    #[must_use]
    pub const fn since(mut self, arrived: Instant) -> Self {
        self.arrived = Some(arrived);
        self
    }

    /// Releases the keys without a change, because the condition of the request failed for the row at `key`. Counts as
    /// a write of 0 rows: it cost locks and a read, so the heat must include clients whose conditions always fail.
    /// `clock` must be the clock that measured the arrival.
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
        // A row that is not cached is not added to the cache, because it is about to change.
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
    /// A look-up of an absent key costs about as much as of an existing key, and the keys of a transaction are usually
    /// neighbours, so one short scan finds the existing rows. Keys beyond the end of the scan, because of other rows in
    /// between, are looked up one by one.
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

    /// Scans a few rows, starting at the first missing key. Removes from `missing` the keys that the scan passed, found
    /// or not.
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
        let behind = found.last_key().map(Bytes::copy_from_slice);
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

    /// Makes all of the batch durable, or nothing of it. This lock must include every key of the batch.
    ///
    /// If the future is dropped before the engine has reserved capacity for the batch, nothing is written. If it is
    /// dropped later, the write completes, the locks are released when it is durable, and only the result is lost.
    ///
    /// # Errors
    /// [`WriteError::Refused`]: nothing was written. [`WriteError::Unknown`]: the batch may have been written.
    pub async fn commit(self, batch: Batch) -> Result<(), WriteError> {
        self.commit_by(batch, &SystemClock).await.map(|_ended| ())
    }

    /// Like [`Locked::commit`], but returns the end time, by the clock that measured the arrival.
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
        // Adds the keys to the filter before the engine stores the rows, so that no reader treats an existing key as
        // absent.
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
                // Fails if the caller was dropped; the write is still valid.
                let _ = answer.send(result);
            }),
        );
        // If the completion was dropped without a call, the outcome is unknown.
        let result = answered.await.unwrap_or(Err(WriteError::Unknown));
        let ended = clock.monotonic();
        done.latency = ended - began;
        if let Some(key) = first {
            range.note(&key, access, done);
        }
        result.map(|()| ended)
    }
}
