//! A store with snapshots that outlives its clusters, and record stores with delays and failures.

use crate::{
    ObjectSnapshotStore, SnapshotName, SnapshotPins, SnapshotRecord, SnapshotStore,
    SnapshotStoreError, Snapshots, StoredSnapshots,
};
use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use object_store::memory::InMemory;
use partita_cluster::test_world::{Disk, Dying};
use partita_cluster::{Cluster, ClusterParts, ObjectMapStore};
use partita_engine::EngineSet;
use partita_engine::slate::{Settings, SlateEngineSet};
use partita_rt::{DataDir, SystemClock, Tasks};
use std::path::Path;
use std::sync::Arc;

/// A cluster and its snapshots.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) snapshots: Arc<Snapshots>,
}

/// A store in memory.
pub(crate) struct World {
    pub(crate) disk: Disk,
    pub(crate) records: Arc<ObjectSnapshotStore>,
}

impl World {
    pub(crate) fn new() -> Self {
        let records = Arc::new(ObjectSnapshotStore::new(Arc::new(InMemory::new())));
        let disk = Disk::with_pins(Arc::new(SnapshotPins::new(records.clone())));
        Self { disk, records }
    }

    pub(crate) async fn open(&self) -> Opened {
        self.start(self.disk.open().await)
    }

    /// The snapshots of a cluster on this disk.
    pub(crate) fn start(&self, cluster: Arc<Cluster>) -> Opened {
        let snapshots = Snapshots::start(Arc::clone(&cluster), self.records.clone());
        Opened { cluster, snapshots }
    }
}

/// Opens a data directory.
pub(crate) async fn open_directory(directory: &Path) -> Opened {
    let data = Arc::new(DataDir::open(directory).unwrap());
    let store = data.store();
    let records = Arc::new(ObjectSnapshotStore::new(store.clone()));
    let engines = SlateEngineSet::new(data, Settings::default()).await;
    let engines = Arc::new(engines.unwrap()) as Arc<dyn EngineSet>;
    let parts = ClusterParts {
        engines,
        memory: Arc::default(),
        map: Arc::new(ObjectMapStore::new(store)),
        pins: Arc::new(SnapshotPins::new(records.clone())),
        clock: Arc::new(SystemClock),
        tasks: Tasks::new(),
    };
    let cluster = Cluster::open(parts).await.unwrap();
    let snapshots = Snapshots::start(Arc::clone(&cluster), records);
    Opened { cluster, snapshots }
}

#[async_trait]
impl SnapshotStore for Dying<dyn SnapshotStore> {
    async fn list(&self) -> Result<StoredSnapshots, SnapshotStoreError> {
        self.call(self.inner.list()).await
    }

    async fn load(
        &self,
        name: &SnapshotName,
    ) -> Result<Option<SnapshotRecord>, SnapshotStoreError> {
        self.call(self.inner.load(name)).await
    }

    async fn save(&self, record: &SnapshotRecord) -> Result<(), SnapshotStoreError> {
        self.call(self.inner.save(record)).await
    }

    async fn delete(&self, name: &SnapshotName) -> Result<(), SnapshotStoreError> {
        self.call(self.inner.delete(name)).await
    }
}

/// A record store that does something before it saves and deletes records.
pub(crate) struct Disturbed {
    pub(crate) inner: Arc<ObjectSnapshotStore>,
    pub(crate) before_save: Box<dyn Fn() + Send + Sync>,
    /// A record is deleted when the future is ready.
    pub(crate) before_delete: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Disturbed {
    /// A store that does nothing of the kind.
    pub(crate) fn calm(inner: Arc<ObjectSnapshotStore>) -> Self {
        Self {
            inner,
            before_save: Box::new(|| ()),
            before_delete: Box::new(|| ready(()).boxed()),
        }
    }
}

#[async_trait]
impl SnapshotStore for Disturbed {
    async fn list(&self) -> Result<StoredSnapshots, SnapshotStoreError> {
        self.inner.list().await
    }

    async fn load(
        &self,
        name: &SnapshotName,
    ) -> Result<Option<SnapshotRecord>, SnapshotStoreError> {
        self.inner.load(name).await
    }

    async fn save(&self, record: &SnapshotRecord) -> Result<(), SnapshotStoreError> {
        (self.before_save)();
        self.inner.save(record).await
    }

    async fn delete(&self, name: &SnapshotName) -> Result<(), SnapshotStoreError> {
        (self.before_delete)().await;
        self.inner.delete(name).await
    }
}
