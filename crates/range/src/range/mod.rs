//! The range itself.

use crate::cache::{CacheStats, EntityCache};
use crate::lock_table::{LockTable, Locks};
use bytes::Bytes;
use partita_engine::{Batch, Engine, KeyRange, ReadError, Scan, ScanHint, WriteError};
use std::fmt;
use std::sync::Arc;
use tokio::sync::oneshot;

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
        // A miss is not kept: the write that follows sets the row.
        match self.range.cache.get(key) {
            Some(row) => Ok(Some(row)),
            None => self.range.engine.get(key).await,
        }
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
