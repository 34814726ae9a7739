//! What the ranges of a process keep in memory of their rows: one bound for all of them.

use crate::cache::{CacheStats, EntityCache};
use crate::key_filter::KeyFilter;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The entity cache and the key filter, shared by all ranges of a process.
///
/// Keys are those of the whole key space, so a range that takes over a piece of another's finds its rows here.
pub struct RowMemory {
    pub(crate) cache: EntityCache,
    pub(crate) keys: KeyFilter,
    pub(crate) absent: AtomicU64,
}

impl fmt::Debug for RowMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowMemory").finish_non_exhaustive()
    }
}

impl RowMemory {
    /// Holds nothing yet. The entity cache may hold `cache_bytes_max` bytes; 0 keeps no rows. The key filter grows to 27 MB.
    #[must_use]
    pub fn new(cache_bytes_max: u64) -> Self {
        Self {
            cache: EntityCache::new(cache_bytes_max),
            keys: KeyFilter::new(),
            absent: AtomicU64::new(0),
        }
    }

    /// Figures of the entity cache.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// Figures of the key filter.
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
    /// 64 MiB of rows: some 50,000 of 1 KiB.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

/// Figures of the key filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyFilterStats {
    /// Keys noted since the process began.
    pub keys: u64,
    /// Memory it takes, in bytes.
    pub bytes: u64,
    /// Look-ups it answered: the key was surely absent.
    pub absent: u64,
}
