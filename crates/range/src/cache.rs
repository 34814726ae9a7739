//! The entity cache: durable rows in stored form, bounded in bytes.
//!
//! *Reads* fill it, and *writes* keep it current. A read that missed inserts a placeholder, reads the engine, and fills
//! the placeholder, unless a write holds the lock of the row. A write removes the row, or a placeholder, before it goes to
//! the engine, and adds the new row before its locks are released, if the old one was cached. So the cache has no row
//! while a write of it is under way: readers see what the engine has, and none sees the old row after another has seen the
//! new one. Writes of rows that are not cached do not add them, because loading data would evict rows that are read.
//!
//! *Tenures*: each row belongs to the tenure in which it was read. A tenure is the time during which a process serves a
//! range without interruption. Between two tenures other processes may write, so a row from an earlier tenure must not
//! be found, and a read that began in an earlier tenure must not cache its row in a later one.

use bytes::Bytes;
use partita_engine::ReadError;
use partita_rt::hash::RandomState;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, Weighter};

/// The estimated memory of a cached row beyond its key and its value, in bytes: the slot in the hash table, the links
/// of the eviction list, two `Bytes` handles, the tenure.
const ENTRY_BYTES: usize = 168;
/// The assumed size of a row in bytes, which determines the initial capacity of the cache's hash table.
const TYPICAL_ROW_BYTES: u64 = 1024;

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<RowKey, Bytes> for ByBytes {
    fn weight(&self, row: &RowKey, value: &Bytes) -> u64 {
        (row.key.len() + value.len() + ENTRY_BYTES) as u64
    }
}

/// The number of a tenure, unique in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tenure(pub(crate) u64);

/// A row of a tenure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RowKey {
    tenure: Tenure,
    key: Bytes,
}

/// A [`RowKey`] to look up, without a handle of its own.
#[derive(Hash)]
struct Wanted<'k> {
    tenure: Tenure,
    key: &'k Bytes,
}

impl Equivalent<RowKey> for Wanted<'_> {
    fn equivalent(&self, row: &RowKey) -> bool {
        self.tenure == row.tenure && *self.key == row.key
    }
}

/// Rows by key.
#[derive(Debug)]
pub(crate) struct EntityCache {
    /// Not the standard hasher, which is five times slower: each write hashes its key four times here.
    rows: Cache<RowKey, Bytes, ByBytes, RandomState>,
}

impl EntityCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        let rows_expected = usize::try_from(bytes_max / TYPICAL_ROW_BYTES).unwrap_or(usize::MAX);
        let (hasher, lifecycle) = (RandomState::default(), DefaultLifecycle::default());
        Self {
            rows: Cache::with(rows_expected, bytes_max, ByBytes, hasher, lifecycle),
        }
    }

    /// The row, if it is cached.
    pub(crate) fn get(&self, tenure: Tenure, key: &Bytes) -> Option<Bytes> {
        self.rows.get(&Wanted { tenure, key })
    }

    /// Returns the row; on a miss, reads and caches it. Readers of the same missing row wait for the first reader.
    /// `is_current` decides whether the row may be cached; it is called after the placeholder is visible to writes and
    /// before the row is read.
    pub(crate) async fn get_or_read<F>(
        &self,
        tenure: Tenure,
        key: &Bytes,
        is_current: impl FnOnce() -> bool,
        read: F,
    ) -> Result<Option<Bytes>, ReadError>
    where
        F: AsyncFnOnce() -> Result<Option<Bytes>, ReadError>,
    {
        let key = key.clone();
        match self
            .rows
            .get_value_or_guard_async(&RowKey { tenure, key })
            .await
        {
            Ok(row) => Ok(Some(row)),
            Err(placeholder) => {
                let is_current = is_current();
                // Copied, because the engine's row is a slice that keeps a whole block in memory.
                let row = read().await?.map(|row| Bytes::copy_from_slice(&row));
                if let Some(row) = row.as_ref().filter(|_| is_current) {
                    // This fails if a write has replaced the placeholder. Then the older row must not be cached.
                    let _ = placeholder.insert(row.clone());
                }
                Ok(row)
            }
        }
    }

    /// Removes the row, or the placeholder of a running read, before a write of it goes to the engine. The caller holds the
    /// lock of the row. Returns whether the row was cached.
    pub(crate) fn begin_write(&self, tenure: Tenure, key: &Bytes) -> bool {
        self.rows.remove(&Wanted { tenure, key }).is_some()
    }

    /// Adds a row that was cached before its write, which is durable now. The caller still holds the lock of the row.
    pub(crate) fn end_write(&self, tenure: Tenure, key: Bytes, row: Bytes) {
        self.rows.insert(RowKey { tenure, key }, row);
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            rows: self.rows.len() as u64,
            bytes: self.rows.weight(),
            bytes_max: self.rows.capacity(),
            hits: self.rows.hits(),
            misses: self.rows.misses(),
        }
    }
}

/// Statistics of the entity cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Cached rows.
    pub rows: u64,
    /// Bytes of the cached rows, including overhead.
    pub bytes: u64,
    /// The maximum size in bytes.
    pub bytes_max: u64,
    /// Reads answered from the cache since it was created.
    pub hits: u64,
    /// Reads that went to the engine.
    pub misses: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A block of the store. A row read from it is a slice, which keeps the whole block in memory.
    struct Block {
        _alive: Arc<()>,
    }

    impl AsRef<[u8]> for Block {
        fn as_ref(&self) -> &[u8] {
            &[7; 4096]
        }
    }

    const TENURE: Tenure = Tenure(1);

    async fn read(cache: &EntityCache, key: u32, row: Bytes) -> Bytes {
        let key = Bytes::copy_from_slice(&key.to_be_bytes());
        let found = cache.get_or_read(TENURE, &key, || true, async || Ok(Some(row)));
        found.await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_cached_row_does_not_keep_its_block() {
        let cache = EntityCache::new(1 << 20);
        let alive = Arc::new(());
        let block = Bytes::from_owner(Block {
            _alive: Arc::clone(&alive),
        });
        let row = read(&cache, 1, block.slice(10..20)).await;
        drop(block);
        assert_eq!(row, [7; 10].as_slice());
        assert_eq!(Arc::strong_count(&alive), 1, "the block is gone");
        assert_eq!(
            cache.get(TENURE, &Bytes::from_static(&[0, 0, 0, 1])),
            Some(row)
        );
        assert_eq!(cache.stats().bytes, 4 + 10 + ENTRY_BYTES as u64);
    }

    #[tokio::test]
    async fn the_cache_stays_within_its_size_limit() {
        const BYTES_MAX: u64 = 64 << 10;
        let cache = EntityCache::new(BYTES_MAX);
        for key in 0..1_000 {
            let length = 1 + key as usize * 37 % 3_000;
            read(&cache, key, vec![1; length].into()).await;
            let stats = cache.stats();
            assert!(stats.bytes <= BYTES_MAX, "{stats:?} after row {key}");
        }
        let stats = cache.stats();
        assert_eq!(stats.bytes_max, BYTES_MAX);
        assert!(stats.rows > 10 && stats.bytes > BYTES_MAX / 2, "{stats:?}");
        // A row that grows is counted with its new size.
        let last = Bytes::copy_from_slice(&999_u32.to_be_bytes());
        for length in [10, 30_000] {
            cache.end_write(TENURE, last.clone(), vec![2; length].into());
            assert!(cache.stats().bytes <= BYTES_MAX);
        }
        let none = EntityCache::new(0);
        read(&none, 1, Bytes::from_static(b"row")).await;
        assert_eq!(none.stats().rows, 0, "a cache of 0 bytes keeps no rows");
    }
}
