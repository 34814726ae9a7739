//! The memory of the reader: decoded blocks, and the metadata of files.
//!
//! One bound holds for all databases of a process. Up to a part of it, metadata stays in memory for as long as its file is
//! read: a get asks the filters of all files, and 25 look-ups in a cache would cost more than the filters. Filters may take
//! nearly all of it, because without them a get reads every file; indexes a little less. Further metadata shares the rest
//! with the blocks, and what was not used for long makes room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::block::Block;
use super::filter::Filter;
use super::index::BlockIndex;
use crate::{ReadError, Stats};

/// Overhead bytes of an entry: key, slot in the map, and the allocator.
const ENTRY_OVERHEAD_BYTES: u64 = 96;

/// The size of a typical block; only for estimating the number of entries.
const BLOCK_BYTES_GUESS: u64 = 16 << 10;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    file: u64,
    /// The number of a block, or one of the last numbers for the metadata.
    part: u64,
}

impl Key {
    /// A block of a file.
    pub(super) fn block(file: u64, number: usize) -> Self {
        let part = number as u64;
        Self { file, part }
    }

    /// A kind of metadata of a file.
    pub(super) fn metadata<M: Metadata>(file: u64) -> Self {
        let part = M::PART;
        Self { file, part }
    }
}

/// Metadata of a file.
pub(super) trait Metadata: Sized {
    /// Its place in [`Key::part`].
    const PART: u64;
    /// How many of 32 parts of the memory the metadata that is kept may take.
    const KEPT_OF_32: u64;
    /// The bytes of memory that it takes.
    fn bytes(&self) -> usize;
    fn into_entry(this: Arc<Self>) -> Entry;
    /// `None` if the entry is something else.
    fn from_entry(entry: Entry) -> Option<Arc<Self>>;
}

impl Metadata for Filter {
    const PART: u64 = u64::MAX;
    const KEPT_OF_32: u64 = 31;

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn into_entry(this: Arc<Self>) -> Entry {
        Entry::Filter(this)
    }

    fn from_entry(entry: Entry) -> Option<Arc<Self>> {
        match entry {
            Entry::Filter(filter) => Some(filter),
            _ => None,
        }
    }
}

impl Metadata for BlockIndex {
    const PART: u64 = u64::MAX - 1;
    const KEPT_OF_32: u64 = 30;

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn into_entry(this: Arc<Self>) -> Entry {
        Entry::Index(this)
    }

    fn from_entry(entry: Entry) -> Option<Arc<Self>> {
        match entry {
            Entry::Index(index) => Some(index),
            _ => None,
        }
    }
}

#[derive(Clone)]
pub(super) enum Entry {
    Block(Arc<Block>),
    Index(Arc<BlockIndex>),
    Filter(Arc<Filter>),
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Entry> for Bytes {
    fn weight(&self, _key: &Key, entry: &Entry) -> u64 {
        let bytes = match entry {
            Entry::Block(block) => block.bytes(),
            Entry::Index(index) => index.bytes(),
            Entry::Filter(filter) => filter.bytes(),
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
            _ => None,
        }
    }

    pub(super) fn insert_block(&self, key: Key, block: Arc<Block>) {
        self.entries.insert(key, Entry::Block(block));
    }

    /// Metadata of a file, which `read` gives if it is not in the cache.
    pub(super) async fn metadata<M: Metadata>(
        &self,
        file: u64,
        read: BoxFuture<'_, Result<M, ReadError>>,
    ) -> Result<Arc<M>, ReadError> {
        let mut is_hit = true;
        let read = async {
            is_hit = false;
            read.await.map(|metadata| M::into_entry(Arc::new(metadata)))
        };
        let key = Key::metadata::<M>(file);
        let found = self.entries.get_or_insert_async(&key, read).await;
        self.count(is_hit);
        let other = || ReadError::Unavailable("another part of a file than was asked for".into());
        M::from_entry(found?).ok_or_else(other)
    }

    pub(super) fn remove(&self, key: Key) {
        self.entries.remove(&key);
    }

    /// Whether this metadata may stay in memory. If so, [`ReadCache::release`] must follow at its end.
    pub(super) fn keep<M: Metadata>(&self, metadata: &M) -> bool {
        let bytes = metadata.bytes() as u64;
        let kept = self.kept.fetch_add(bytes, Ordering::AcqRel) + bytes;
        if kept > self.bytes_max / 32 * M::KEPT_OF_32 {
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
