//! Planted bugs in the cache and the locks of a range, see [`partita_engine::planted`]. Each type
//! replaces the type that it wraps.

use crate::{cache, lock_table};
use bytes::Bytes;
use partita_engine::planted::is_active;
use std::ops::Deref;
use std::sync::Arc;

/// `cache-keeps-old`: a write leaves the older row in the cache.
pub(crate) struct EntityCache(cache::EntityCache);

impl EntityCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        // With the planted bug `read-not-durable` the cache is off: a cached row would hide the row that is not
        // durable.
        let is_off = is_active("read-not-durable");
        Self(cache::EntityCache::new(if is_off { 0 } else { bytes_max }))
    }

    pub(crate) fn begin_write(&self, tenure: cache::Tenure, key: &Bytes) -> bool {
        !is_active("cache-keeps-old") && self.0.begin_write(tenure, key)
    }
}

impl Deref for EntityCache {
    type Target = cache::EntityCache;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// `etag-outside-lock`: a write compares the ETag and commits without the lock of its entity.
#[derive(Debug)]
pub(crate) struct LockTable(Arc<lock_table::LockTable>);

impl LockTable {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(lock_table::LockTable::new()))
    }

    pub(crate) async fn lock<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> lock_table::Locks {
        if is_active("etag-outside-lock") {
            return self.0.lock(std::iter::empty()).await;
        }
        self.0.lock(keys).await
    }

    pub(crate) fn is_held(&self, key: &[u8]) -> bool {
        self.0.is_held(key)
    }
}
