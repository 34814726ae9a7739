//! A store with snapshots that outlives its clusters, and record stores with delays and failures.

use crate::{
    ObjectSnapshotStore, SnapshotName, SnapshotPins, SnapshotRecord, SnapshotStore,
    SnapshotStoreError, Snapshots, StoredSnapshots,
};
use async_trait::async_trait;
use object_store::memory::InMemory;
use partita_cluster::test_world::{Disk, Dying};
use partita_cluster::{Cluster, ClusterParts, ObjectMapStore};
use partita_engine::EngineSet;
use partita_engine::slate::{Settings, SlateEngineSet};
use partita_rt::{DataDir, SystemClock, Tasks};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Semaphore, watch};

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

/// A record store that deletes only while its gate is open.
pub(crate) struct SlowDeletion {
    pub(crate) inner: Arc<ObjectSnapshotStore>,
    pub(crate) is_open: watch::Sender<bool>,
    /// Gets one permit for each requested deletion.
    pub(crate) asked: Semaphore,
}

#[async_trait]
impl SnapshotStore for SlowDeletion {
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
        self.inner.save(record).await
    }

    async fn delete(&self, name: &SnapshotName) -> Result<(), SnapshotStoreError> {
        self.asked.add_permits(1);
        let mut is_open = self.is_open.subscribe();
        is_open.wait_for(|is_open| *is_open).await.unwrap();
        self.inner.delete(name).await
    }
}

/// A record store whose user loses its lease while a record is stored.
pub(crate) struct Deposing {
    pub(crate) inner: Arc<ObjectSnapshotStore>,
    pub(crate) is_lease_valid: Arc<AtomicBool>,
}

#[async_trait]
impl SnapshotStore for Deposing {
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
        self.is_lease_valid.store(false, Ordering::SeqCst);
        self.inner.save(record).await
    }

    async fn delete(&self, name: &SnapshotName) -> Result<(), SnapshotStoreError> {
        self.inner.delete(name).await
    }
}
