//! The range itself.

use crate::cache::{CacheStats, EntityCache};
use crate::lock_table::{LockTable, Locks};
use bytes::Bytes;
use partita_engine::{Batch, Engine, KeyRange, ReadError, Scan, ScanHint, WriteError};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use tokio::sync::oneshot;

/// From so many keys on, one scan is tried before single reads: opening it costs as much as several of them.
const SCAN_KEYS_MIN: usize = 8;
/// Bytes of rows that such a scan reads at most: foreign rows between the keys may be large.
const SCAN_BYTES_MAX: usize = 256 << 10;

/// The identity of a range; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeId(pub u64);

/// What an operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeSettings {
    /// The most the entity cache may hold, in bytes; 0 keeps nothing.
    pub cache_bytes_max: u64,
}

impl Default for RangeSettings {
    /// 64 MiB: some 50,000 rows of 1 KiB.
    fn default() -> Self {
        Self {
            cache_bytes_max: 64 << 20,
        }
    }
}

/// A served range.
pub struct Range {
    id: RangeId,
    engine: Arc<dyn Engine>,
    locks: Arc<LockTable>,
    cache: Arc<EntityCache>,
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Range {
    /// Serves what the engine holds.
    #[must_use]
    pub fn new(id: RangeId, engine: Arc<dyn Engine>, settings: RangeSettings) -> Self {
        let cache = Arc::new(EntityCache::new(settings.cache_bytes_max));
        Self {
            id,
            engine,
            locks: LockTable::new(),
            cache,
        }
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

    /// Figures of its entity cache.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// A row, as of the last durable write. Cancel safe.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        if let Some(row) = self.cache.get(key) {
            return Ok(Some(row));
        }
        self.cache
            .get_or_read(key, async || self.engine.get(key).await)
            .await
    }

    /// The rows of a piece of the key space, as one snapshot of durable state. Does not fill the entity cache.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        self.engine.scan(range, hint).await
    }

    /// Locks the keys of a write, waiting for other writers of them. Cancel safe.
    pub async fn lock<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Locked<'_> {
        let locks = self.locks.lock(keys).await;
        Locked { range: self, locks }
    }
}

/// Keys of a range under lock. Dropping it releases them, with nothing changed.
#[derive(Debug)]
pub struct Locked<'r> {
    range: &'r Range,
    locks: Locks,
}

impl Locked<'_> {
    /// The current row of a key under lock. Cancel safe.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        // A miss is not kept: the row is about to change.
        match self.range.cache.get(key) {
            Some(row) => Ok(Some(row)),
            None => self.range.engine.get(key).await,
        }
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
        let mut rows: Vec<Option<Bytes>> =
            keys.iter().map(|key| self.range.cache.get(key)).collect();
        let mut missing: Vec<usize> = (0..keys.len())
            .filter(|&at| matches!(rows.get(at), Some(None)))
            .collect();
        if missing.len() >= SCAN_KEYS_MIN {
            self.scan_for(keys, &mut missing, &mut rows).await?;
        }
        for at in missing {
            if let (Some(key), Some(row)) = (keys.get(at), rows.get_mut(at)) {
                *row = self.range.engine.get(key).await?;
            }
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

    /// Makes the batch durable, all of it or nothing; every key of it must be under this lock.
    ///
    /// Cancel safe in this sense: dropped before the engine has room, nothing happens; after that the write goes on, the
    /// locks are released when it is durable, and only the answer is lost.
    ///
    /// # Errors
    /// [`WriteError::Refused`]: nothing happened. [`WriteError::Unknown`]: it may have happened.
    pub async fn commit(self, batch: Batch) -> Result<(), WriteError> {
        let permit = self.range.engine.reserve(batch.bytes()).await?;
        let (answer, answered) = oneshot::channel();
        let (cache, locks) = (Arc::clone(&self.range.cache), self.locks);
        let writes = batch.writes().to_vec();
        permit.submit(
            batch,
            Box::new(move |result| {
                for write in writes {
                    match result {
                        Ok(()) => cache.set(write.key, write.value),
                        Err(_) => cache.forget(&write.key),
                    }
                }
                drop(locks);
                // Fails when the caller has gone; the write stands.
                let _ = answer.send(result);
            }),
        );
        // A completion dropped unanswered says nothing of the write.
        answered.await.unwrap_or(Err(WriteError::Unknown))
    }
}

#[cfg(test)]
mod tests;
