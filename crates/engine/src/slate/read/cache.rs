//! The memory of the reader: decoded blocks, and the metadata of files.
//!
//! One bound holds for all databases of a process. Up to half of it, metadata stays in memory for as long as its file is
//! read: a get asks the filters of all files, and 25 look-ups in a cache would cost more than the filters. Further
//! metadata shares the rest with the blocks, and what was not used for long makes room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::block::Block;
use super::file_meta::FileMeta;
use crate::{ReadError, Stats};

/// Overhead bytes of an entry: key, slot in the map, and the allocator.
const ENTRY_OVERHEAD_BYTES: u64 = 96;

/// The size of a typical block; only for estimating the number of entries.
const BLOCK_BYTES_GUESS: u64 = 16 << 10;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    file: u64,
    /// The number of a block, or `u64::MAX` for the metadata.
    part: u64,
}

impl Key {
    /// A block of a file.
    pub(super) fn block(file: u64, number: usize) -> Self {
        let part = number as u64;
        Self { file, part }
    }

    /// The metadata of a file.
    pub(super) fn meta(file: u64) -> Self {
        let part = u64::MAX;
        Self { file, part }
    }
}

#[derive(Clone)]
enum Entry {
    Block(Arc<Block>),
    Meta(Arc<FileMeta>),
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Entry> for Bytes {
    fn weight(&self, _key: &Key, entry: &Entry) -> u64 {
        let bytes = match entry {
            Entry::Block(block) => block.bytes(),
            Entry::Meta(meta) => meta.bytes(),
        };
        bytes as u64 + ENTRY_OVERHEAD_BYTES
    }
}

/// See the module.
pub(in crate::slate) struct ReadCache {
    entries: Cache<Key, Entry, Bytes>,
    bytes_max: u64,
    /// Bytes of metadata that stay in memory.
    kept: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl ReadCache {
    /// At most `bytes_max` bytes.
    pub(in crate::slate) fn new(bytes_max: u64) -> Self {
        let entries_guess = usize::try_from(bytes_max / BLOCK_BYTES_GUESS)
            .unwrap_or(1)
            .max(16);
        Self {
            entries: Cache::with_weighter(entries_guess, bytes_max, Bytes),
            bytes_max,
            kept: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Adds its counts and its bytes.
    pub(in crate::slate) fn count_into(&self, stats: &mut Stats) {
        stats.cache_hits += self.hits.load(Ordering::Relaxed);
        stats.cache_misses += self.misses.load(Ordering::Relaxed);
        stats.cache_bytes += self.entries.weight() + self.kept.load(Ordering::Relaxed);
    }

    fn count(&self, is_hit: bool) {
        let counter = if is_hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn block(&self, key: Key) -> Option<Arc<Block>> {
        let found = self.entries.get(&key);
        self.count(found.is_some());
        match found {
            Some(Entry::Block(block)) => Some(block),
            Some(Entry::Meta(_)) | None => None,
        }
    }

    pub(super) fn insert_block(&self, key: Key, block: Arc<Block>) {
        self.entries.insert(key, Entry::Block(block));
    }

    /// The metadata of a file, which `read` gives if it is not in the cache.
    pub(super) async fn meta(
        &self,
        key: Key,
        read: BoxFuture<'_, Result<FileMeta, ReadError>>,
    ) -> Result<Arc<FileMeta>, ReadError> {
        let mut is_hit = true;
        let read = async {
            is_hit = false;
            read.await.map(|meta| Entry::Meta(Arc::new(meta)))
        };
        let found = self.entries.get_or_insert_async(&key, read).await;
        self.count(is_hit);
        match found? {
            Entry::Meta(meta) => Ok(meta),
            Entry::Block(_) => Err(ReadError::Unavailable("a block instead of metadata".into())),
        }
    }

    pub(super) fn remove(&self, key: Key) {
        self.entries.remove(&key);
    }

    /// Whether metadata of this size may stay in memory. If so, [`ReadCache::release`] must follow at its end.
    pub(super) fn keep(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let kept = self.kept.fetch_add(bytes, Ordering::AcqRel) + bytes;
        if kept > self.bytes_max / 2 {
            self.kept.fetch_sub(bytes, Ordering::AcqRel);
            return false;
        }
        self.entries.set_capacity(self.bytes_max - kept);
        true
    }

    /// Gives back what [`ReadCache::keep`] took.
    pub(super) fn release(&self, bytes: usize) {
        let bytes = bytes as u64;
        let kept = self.kept.fetch_sub(bytes, Ordering::AcqRel) - bytes;
        self.entries.set_capacity(self.bytes_max - kept);
    }
}
