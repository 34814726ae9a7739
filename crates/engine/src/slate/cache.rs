//! One cache for the blocks and the metadata of all databases, bounded in bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use slatedb::Error;
use slatedb::db_cache::{CachedEntry, CachedKey, DbCache};

use crate::Stats;

/// Overhead bytes of an entry: key, slot in the map, and the allocator.
const ENTRY_OVERHEAD_BYTES: u64 = 128;

/// The size of a typical block; only for estimating the number of entries.
const BLOCK_BYTES_GUESS: u64 = 16 << 10;

pub(super) struct BlockCache {
    entries: Cache<CachedKey, CachedEntry, Bytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<CachedKey, CachedEntry> for Bytes {
    fn weight(&self, _key: &CachedKey, entry: &CachedEntry) -> u64 {
        entry.size() as u64 + ENTRY_OVERHEAD_BYTES
    }
}

impl BlockCache {
    pub(super) fn new(bytes_max: u64) -> Self {
        let entries_guess = usize::try_from(bytes_max / BLOCK_BYTES_GUESS)
            .unwrap_or(1)
            .max(16);
        Self {
            entries: Cache::with_weighter(entries_guess, bytes_max, Bytes),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub(super) fn count_into(&self, stats: &mut Stats) {
        stats.cache_hits += self.hits.load(Ordering::Relaxed);
        stats.cache_misses += self.misses.load(Ordering::Relaxed);
        stats.cache_bytes += self.entries.weight();
    }

    fn find(&self, key: &CachedKey) -> Option<CachedEntry> {
        let found = self.entries.get(key);
        let counter = if found.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }
}

#[async_trait]
impl DbCache for BlockCache {
    async fn get_block(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.find(key))
    }

    async fn get_index(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.find(key))
    }

    async fn get_filter(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.find(key))
    }

    async fn get_stats(&self, key: &CachedKey) -> Result<Option<CachedEntry>, Error> {
        Ok(self.find(key))
    }

    async fn insert(&self, key: CachedKey, value: CachedEntry) {
        self.entries.insert(key, value);
    }

    async fn remove(&self, key: &CachedKey) {
        self.entries.remove(key);
    }

    fn entry_count(&self) -> u64 {
        self.entries.len() as u64
    }
}
