//! Locked keys of a range: reads and writes of their rows.

use super::{Range, RequestStats};
use crate::gate::Pass;
use crate::lock_table::Locks;
use bytes::Bytes;
use partita_engine::{Batch, ReadError, WriteError};
use partita_heat::Access;
use partita_rt::{Clock, SystemClock};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

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
        let row = match self.range.rows.get(key) {
            Some(row) => Some(row),
            None => self.range.engine.get(key).await?,
        };
        if row.is_none() {
            self.found_absent.store(true, Ordering::Relaxed);
        }
        Ok(row)
    }

    /// The current rows of several keys under lock, in their order. Cancel safe.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, ReadError> {
        // Rows that are not cached are not added to the cache, because they are about to change.
        let cached = &self.range.rows;
        let mut rows: Vec<_> = keys.iter().map(|key| cached.get(key)).collect();
        let is_missing = |(_, row): &(&Bytes, &mut Option<Bytes>)| row.is_none();
        let missing = keys.iter().zip(&mut rows).filter(is_missing);
        let (missing, places): (Vec<Bytes>, Vec<_>) =
            missing.map(|(key, place)| (key.clone(), place)).unzip();
        let read = self.range.engine.get_many(&missing).await?;
        if read.iter().any(Option::is_none) {
            self.found_absent.store(true, Ordering::Relaxed);
        }
        for (place, row) in places.into_iter().zip(read) {
            *place = row;
        }
        Ok(rows)
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
        let range = Arc::clone(&self.range);
        let writes = batch.writes();
        let is_new = self.found_absent.load(Ordering::Relaxed)
            && writes.iter().any(|write| write.value.is_some());
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
        let result = self.commit_uncounted(batch).await;
        if matches!(result, Err(WriteError::Refused(_))) {
            return result.map(|()| began);
        }
        let ended = clock.monotonic();
        done.latency = ended - began;
        if let Some(key) = first {
            range.note(&key, access, done);
        }
        result.map(|()| ended)
    }

    /// Like [`Locked::commit`], but does not count in the heat: for a batch of several requests, each of which the
    /// caller counts with [`Range::note`].
    ///
    /// # Errors
    /// Those of [`Locked::commit`].
    pub async fn commit_uncounted(self, batch: Batch) -> Result<(), WriteError> {
        let permit = self.range.engine.reserve(batch.bytes()).await?;
        let (answer, answered) = oneshot::channel();
        let Self {
            range, locks, pass, ..
        } = self;
        let cached = range.rows.clone();
        let writes = batch.writes().to_vec();
        // Which of the rows were cached.
        let cached_before: SmallVec<[bool; 1]> = writes
            .iter()
            .map(|write| cached.begin_write(&write.key))
            .collect();
        permit.submit(
            batch,
            Box::new(move |result| {
                pass.note(&writes, result);
                if result.is_ok() {
                    for (write, was_cached) in writes.into_iter().zip(cached_before) {
                        if let Some(row) = write.value.filter(|_| was_cached) {
                            cached.end_write(write.key, row);
                        }
                    }
                }
                drop(locks);
                drop(pass);
                // Fails if the caller was dropped; the write is still valid.
                let _ = answer.send(result);
            }),
        );
        // If the completion was dropped without a call, the outcome is unknown.
        answered.await.unwrap_or(Err(WriteError::Unknown))
    }

    /// The range of the keys.
    #[must_use]
    pub fn range(&self) -> &Arc<Range> {
        &self.range
    }
}
