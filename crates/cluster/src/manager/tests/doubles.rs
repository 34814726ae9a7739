//! Databases and maps that fail: before a kill, or once something is done.

use super::*;
use crate::map_store::StoredSnapshots;
use std::sync::atomic::AtomicBool;
use tokio::sync::watch;

/// Databases and a map that answer so many calls and then never again: the manager before a kill.
pub(super) struct Dying<T: ?Sized> {
    pub(super) inner: Arc<T>,
    pub(super) calls_left: Arc<AtomicI64>,
    /// Whether the last call is still done, and only its answer lost.
    pub(super) does_the_last: bool,
}

impl<T: ?Sized> Dying<T> {
    /// Whether this call is done, and whether it is answered.
    async fn call<R>(&self, done: impl Future<Output = R>) -> R {
        let left = self.calls_left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return done.await;
        }
        if left == 0 && self.does_the_last {
            done.await;
        }
        std::future::pending().await
    }
}

#[async_trait]
impl MapStore for Dying<dyn MapStore> {
    async fn load(&self) -> Result<Option<MapRecord>, MapError> {
        self.call(self.inner.load()).await
    }

    async fn save(&self, record: &MapRecord) -> Result<(), MapError> {
        self.call(self.inner.save(record)).await
    }

    async fn snapshots(&self) -> Result<StoredSnapshots, MapError> {
        self.call(self.inner.snapshots()).await
    }

    async fn snapshot(&self, name: &SnapshotName) -> Result<Option<SnapshotRecord>, MapError> {
        self.call(self.inner.snapshot(name)).await
    }

    async fn save_snapshot(&self, record: &SnapshotRecord) -> Result<(), MapError> {
        self.call(self.inner.save_snapshot(record)).await
    }

    async fn delete_snapshot(&self, name: &SnapshotName) -> Result<(), MapError> {
        self.call(self.inner.delete_snapshot(name)).await
    }
}

#[async_trait]
impl Databases for Dying<dyn Databases> {
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        self.call(self.inner.open(range)).await
    }

    async fn forget_others(&self) {
        self.inner.forget_others().await;
    }

    async fn derive(&self, target: RangeId, pieces: &[Piece]) -> Result<(), ChangeError> {
        self.call(self.inner.derive(target, pieces)).await
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        self.call(self.inner.remove(range)).await
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        self.call(self.inner.removable(ranges)).await
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        self.call(self.inner.list()).await
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        self.call(self.inner.pin(ranges)).await
    }

    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
        self.call(self.inner.pins(range)).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.call(self.inner.unpin(range, pin)).await
    }

    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError> {
        self.call(self.inner.open_pin(range, pin)).await
    }

    async fn files(
        &self,
        range: RangeId,
        pin: Option<&PinId>,
    ) -> Result<Vec<FileUse>, ChangeError> {
        self.call(self.inner.files(range, pin)).await
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn health(&self) -> Health {
        self.inner.health()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// A map that stores what it is given at once, and answers when its gate is open: a disk whose caller may be gone by then. Snapshots
/// are deleted when it is open. While it is full nothing is stored.
pub(super) struct Gated {
    inner: Arc<ObjectMapStore>,
    pub(super) is_open: watch::Sender<bool>,
    /// A permit for each version that was stored, and each snapshot that is to be deleted.
    pub(super) stored: Semaphore,
    pub(super) full: Arc<AtomicBool>,
}

impl Gated {
    pub(super) fn new(inner: &Arc<ObjectMapStore>) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            is_open: watch::Sender::new(true),
            stored: Semaphore::new(0),
            full: Arc::default(),
        })
    }
}

#[async_trait]
impl MapStore for Gated {
    async fn load(&self) -> Result<Option<MapRecord>, MapError> {
        self.inner.load().await
    }

    async fn save(&self, record: &MapRecord) -> Result<(), MapError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(MapError::Store(Arc::new(object_store::Error::Generic {
                store: "test",
                source: "the disk is full".into(),
            })));
        }
        let saved = self.inner.save(record).await;
        self.stored.add_permits(1);
        let mut is_open = self.is_open.subscribe();
        is_open.wait_for(|is_open| *is_open).await.unwrap();
        saved
    }

    async fn snapshots(&self) -> Result<StoredSnapshots, MapError> {
        self.inner.snapshots().await
    }

    async fn snapshot(&self, name: &SnapshotName) -> Result<Option<SnapshotRecord>, MapError> {
        self.inner.snapshot(name).await
    }

    async fn save_snapshot(&self, record: &SnapshotRecord) -> Result<(), MapError> {
        self.inner.save_snapshot(record).await
    }

    async fn delete_snapshot(&self, name: &SnapshotName) -> Result<(), MapError> {
        self.stored.add_permits(1);
        let mut is_open = self.is_open.subscribe();
        is_open.wait_for(|is_open| *is_open).await.unwrap();
        self.inner.delete_snapshot(name).await
    }
}

/// Databases that do something else once one is derived, and before it is looked which can be removed. While their disk is full nothing
/// is removed.
pub(super) struct Hooked {
    pub(super) databases: Arc<MemoryDatabases>,
    pub(super) derived: Hook,
    pub(super) looking: Hook,
    pub(super) full: Arc<AtomicBool>,
}

impl Hooked {
    /// With hooks that do nothing.
    pub(super) fn new(databases: &Arc<MemoryDatabases>) -> Self {
        let nothing = || -> Hook { Box::new(|| Box::pin(async { Ok(()) })) };
        Self {
            databases: Arc::clone(databases),
            derived: nothing(),
            looking: nothing(),
            full: Arc::default(),
        }
    }
}

pub(super) type Hook = Box<dyn Fn() -> BoxFuture<'static, Result<(), ChangeError>> + Send + Sync>;

#[async_trait]
impl Databases for Hooked {
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        self.databases.open(range).await
    }

    async fn forget_others(&self) {}

    async fn derive(&self, target: RangeId, pieces: &[Piece]) -> Result<(), ChangeError> {
        self.databases.derive(target, pieces).await?;
        (self.derived)().await
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(ChangeError::Late);
        }
        self.databases.remove(range).await
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        (self.looking)().await?;
        self.databases.removable(ranges).await
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        self.databases.list().await
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        self.databases.pin(ranges).await
    }

    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
        self.databases.pins(range).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.databases.unpin(range, pin).await
    }

    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError> {
        self.databases.open_pin(range, pin).await
    }

    async fn files(
        &self,
        range: RangeId,
        pin: Option<&PinId>,
    ) -> Result<Vec<FileUse>, ChangeError> {
        self.databases.files(range, pin).await
    }

    fn stats(&self) -> Stats {
        self.databases.stats()
    }

    fn health(&self) -> Health {
        self.databases.health()
    }

    async fn close(&self) {
        self.databases.close().await;
    }
}
