//! The entity cache of a process, shared by all its ranges.

use crate::cache::CacheStats;
#[cfg(not(feature = "planted-bugs"))]
use crate::cache::EntityCache;
#[cfg(feature = "planted-bugs")]
use crate::planted::EntityCache;

/// The entity cache, shared by all ranges of a process.
///
/// Keys are unique over the whole key space, so the ranges that a split or merge creates reuse the cached rows of the
/// old ranges.
pub struct RowMemory {
    pub(crate) cache: EntityCache,
}

impl RowMemory {
    /// An empty cache, which may hold `cache_bytes_max` bytes; 0 disables it.
    #[must_use]
    pub fn new(cache_bytes_max: u64) -> Self {
        Self {
            cache: EntityCache::new(cache_bytes_max),
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
