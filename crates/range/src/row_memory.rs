//! The entity cache and key filter of a process, shared by all its ranges.

use crate::cache::CacheStats;
#[cfg(feature = "planted-bugs")]
use crate::planted::{EntityCache, KeyFilter};
#[cfg(not(feature = "planted-bugs"))]
use crate::{cache::EntityCache, key_filter::KeyFilter};
use std::sync::atomic::{AtomicU64, Ordering};

/// The entity cache and the key filter, shared by all ranges of a process.
///
/// Keys are unique over the whole key space, so the ranges that a split or merge creates reuse the cached rows of the
/// old ranges.
pub struct RowMemory {
    pub(crate) cache: EntityCache,
    pub(crate) keys: KeyFilter,
    pub(crate) absent: AtomicU64,
}

impl RowMemory {
    /// An empty cache and filter. The entity cache may hold `cache_bytes_max` bytes; 0 disables the cache. The key
    /// filter grows to about 27 MiB.
    #[must_use]
    pub fn new(cache_bytes_max: u64) -> Self {
        Self {
            cache: EntityCache::new(cache_bytes_max),
            keys: KeyFilter::new(),
            absent: AtomicU64::new(0),
        }
    }

    /// Statistics of the entity cache.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// Statistics of the key filter.
    #[must_use]
    pub fn key_filter_stats(&self) -> KeyFilterStats {
        let (keys, bytes) = self.keys.size();
        KeyFilterStats {
            keys,
            bytes,
            absent: self.absent.load(Ordering::Relaxed),
        }
    }
}

impl Default for RowMemory {
    /// 64 MiB, for about 50,000 rows of 1 KiB.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

/// Statistics of the key filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyFilterStats {
    /// Keys added since the process began.
    pub keys: u64,
    /// Its size in memory, in bytes.
    pub bytes: u64,
    /// Look-ups avoided because the key was certainly absent.
    pub absent: u64,
}
