//! The entity cache of a process, and the part of it that belongs to a range.

#[cfg(not(feature = "planted-bugs"))]
use crate::cache::EntityCache;
use crate::cache::{CacheStats, Tenure};
#[cfg(feature = "planted-bugs")]
use crate::planted::EntityCache;
use bytes::Bytes;
use partita_engine::ReadError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The entity cache, shared by all ranges of a process.
pub struct RowMemory {
    cache: EntityCache,
    last_tenure: AtomicU64,
}

impl RowMemory {
    /// An empty cache, which may hold `cache_bytes_max` bytes; 0 disables it.
    #[must_use]
    pub fn new(cache_bytes_max: u64) -> Self {
        Self {
            cache: EntityCache::new(cache_bytes_max),
            last_tenure: AtomicU64::new(0),
        }
    }

    /// Statistics of the entity cache.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }
}

impl Default for RowMemory {
    /// 64 MiB, for about 50,000 rows of 1 KiB.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

/// The cached rows of one tenure of a range. A clone is of the same tenure: keys are unique over the whole key space,
/// so the ranges that a split or merge creates continue with the cached rows of the old ranges.
#[derive(Clone)]
pub(crate) struct CachedRows {
    memory: Arc<RowMemory>,
    tenure: Tenure,
}

impl CachedRows {
    /// Begins a tenure, without rows.
    pub(crate) fn begin(memory: Arc<RowMemory>) -> Self {
        let tenure = Tenure(memory.last_tenure.fetch_add(1, Ordering::Relaxed) + 1);
        Self { memory, tenure }
    }

    /// The row, if it is cached.
    pub(crate) fn get(&self, key: &Bytes) -> Option<Bytes> {
        self.memory.cache.get(self.tenure, key)
    }

    /// See [`EntityCache::get_or_read`](crate::cache::EntityCache::get_or_read).
    pub(crate) async fn get_or_read<F>(
        &self,
        key: &Bytes,
        is_current: impl FnOnce() -> bool,
        read: F,
    ) -> Result<Option<Bytes>, ReadError>
    where
        F: AsyncFnOnce() -> Result<Option<Bytes>, ReadError>,
    {
        let cache = &self.memory.cache;
        cache.get_or_read(self.tenure, key, is_current, read).await
    }

    /// See [`EntityCache::begin_write`](crate::cache::EntityCache::begin_write).
    pub(crate) fn begin_write(&self, key: &Bytes) -> bool {
        self.memory.cache.begin_write(self.tenure, key)
    }

    /// See [`EntityCache::end_write`](crate::cache::EntityCache::end_write).
    pub(crate) fn end_write(&self, key: Bytes, row: Bytes) {
        self.memory.cache.end_write(self.tenure, key, row);
    }

    /// Whether both are of the same tenure.
    pub(crate) fn is_same_tenure(&self, other: &Self) -> bool {
        self.tenure == other.tenure
    }

    /// Statistics of the whole cache.
    #[cfg(test)]
    pub(crate) fn stats(&self) -> CacheStats {
        self.memory.cache_stats()
    }
}
