//! An in-memory store that outlives its clusters, and stores with faults: for tests of this crate and of the crates
//! above it.

#![allow(clippy::unwrap_used, reason = "test support: a panic fails the test")]

mod doubles;
mod hooked;

pub use doubles::{Dying, Gated};
pub use hooked::{Hook, Hooked};

use crate::{Cluster, ClusterParts, LockError, MapStore, ObjectMapStore, PinRecords};
use crate::{PinRecordsError, StartError};
use async_trait::async_trait;
use bytes::Bytes;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use parking_lot::Mutex;
use partita_engine::memory::MemoryEngineSet;
use partita_engine::{Batch, EngineSet, KeyRange, PinId, ScanHint};
use partita_model::{TableId, TableSpace};
use partita_range::RangeId;
use partita_rt::{Clock, SystemClock, Tasks};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// How long a change may take to create its ranges.
pub const CREATE_MAX: Duration = crate::host::CREATE_MAX;

/// A store that outlives its clusters, as a disk does.
pub struct Disk {
    /// The databases.
    pub engines: Arc<MemoryEngineSet>,
    /// The partition map.
    pub map: Arc<ObjectMapStore>,
    /// The objects of the partition map.
    pub objects: Arc<InMemory>,
    /// The pins in snapshot records.
    pub pins: Arc<dyn PinRecords>,
}

/// Lists the pins that a test inserts.
#[derive(Debug, Default)]
pub struct NamedPins(pub Mutex<BTreeSet<(RangeId, PinId)>>);

#[async_trait]
impl PinRecords for NamedPins {
    async fn named(&self) -> Result<BTreeSet<(RangeId, PinId)>, PinRecordsError> {
        Ok(self.0.lock().clone())
    }
}

impl Default for Disk {
    /// An empty store without snapshots.
    fn default() -> Self {
        Self::with_pins(Arc::new(NamedPins::default()))
    }
}

impl Disk {
    /// An empty disk with these pin records.
    #[must_use]
    pub fn with_pins(pins: Arc<dyn PinRecords>) -> Self {
        let objects = Arc::new(InMemory::new());
        Self {
            engines: Arc::new(MemoryEngineSet::new()),
            map: Arc::new(ObjectMapStore::new(
                Arc::clone(&objects) as Arc<dyn ObjectStore>
            )),
            objects,
            pins,
        }
    }

    /// The parts of a cluster on this disk.
    #[must_use]
    pub fn parts(&self) -> ClusterParts {
        ClusterParts {
            engines: Arc::clone(&self.engines) as Arc<dyn EngineSet>,
            memory: Arc::default(),
            map: Arc::clone(&self.map) as Arc<dyn MapStore>,
            pins: Arc::clone(&self.pins),
            clock: Arc::new(SystemClock),
            tasks: Tasks::new(),
        }
    }

    /// Opens a cluster.
    pub async fn open(&self) -> Arc<Cluster> {
        Cluster::open(self.parts()).await.unwrap()
    }

    /// Opens a cluster with another clock.
    pub async fn open_at(&self, clock: Arc<dyn Clock>) -> Arc<Cluster> {
        let parts = ClusterParts {
            clock,
            ..self.parts()
        };
        Cluster::open(parts).await.unwrap()
    }

    /// Opens a cluster that calls the hook after each database it clones.
    pub async fn open_hooked(&self, hook: Hook) -> Arc<Cluster> {
        let hooked = Hooked {
            cloned: hook,
            ..Hooked::new(&self.engines)
        };
        let map = Arc::clone(&self.map) as Arc<dyn MapStore>;
        self.open_with(Arc::new(hooked), map).await.unwrap()
    }

    /// Opens a cluster with other databases and another map store.
    ///
    /// # Errors
    /// Those of [`Cluster::open`].
    pub async fn open_with(
        &self,
        engines: Arc<dyn EngineSet>,
        map: Arc<dyn MapStore>,
    ) -> Result<Arc<Cluster>, StartError> {
        let parts = ClusterParts {
            engines,
            map,
            ..self.parts()
        };
        Cluster::open(parts).await
    }
}

/// The key of a row, the only one of its partition.
#[must_use]
pub fn key(number: u32) -> Bytes {
    TableSpace::new("account", TableId(1)).entity(&format!("p{number:03}"), "r")
}

/// The start of a partition.
#[must_use]
pub fn partition(number: u32) -> Bytes {
    TableSpace::new("account", TableId(1)).partition(&format!("p{number:03}"))
}

/// Writes a row.
///
/// # Errors
/// Its range is in transit.
pub async fn put(cluster: &Cluster, number: u32, value: &str) -> Result<(), LockError> {
    let locked = cluster.map().lock(&[key(number)]).await?;
    let mut batch = Batch::new();
    batch.put(key(number), Bytes::copy_from_slice(value.as_bytes()));
    locked.commit(batch).await.unwrap();
    Ok(())
}

/// Deletes a row.
pub async fn delete(cluster: &Cluster, number: u32) {
    let locked = cluster.map().lock(&[key(number)]).await.unwrap();
    let mut batch = Batch::new();
    batch.delete(key(number));
    locked.commit(batch).await.unwrap();
}

/// Writes rows.
pub async fn fill(cluster: &Cluster, numbers: Range<u32>) {
    for number in numbers {
        put(cluster, number, "first").await.unwrap();
    }
}

/// Reads all rows, range after range.
pub async fn rows(cluster: &Cluster) -> BTreeMap<Bytes, Bytes> {
    let mut found = BTreeMap::new();
    for served in cluster.map().ranges().iter() {
        let mut scan = served
            .range
            .scan(KeyRange::all(), ScanHint::walk())
            .await
            .unwrap();
        for (key, row) in scan.next(usize::MAX, usize::MAX).await.unwrap() {
            assert!(
                served.range.bounds().contains(&key),
                "a row of another range"
            );
            assert!(found.insert(key, row).is_none(), "a row twice");
        }
    }
    found
}

/// The ids of the served ranges, in key order.
#[must_use]
pub fn ids(cluster: &Cluster) -> Vec<u64> {
    let ranges = cluster.map().ranges();
    ranges.iter().map(|served| served.range.id().0).collect()
}

/// The pins of all databases.
pub async fn pin_count(engines: &dyn EngineSet) -> usize {
    let mut count = 0;
    for range in engines.list().await.unwrap() {
        count += engines.pins(range).await.unwrap().len();
    }
    count
}

/// Waits until only these databases are pending deletion.
pub async fn wait_for_deletion(cluster: &Cluster, pending: &[u64]) {
    loop {
        let mut left = cluster.record().unwrap().pending_deletion;
        left.sort_unstable();
        if left == pending {
            return;
        }
        cluster.delete_replaced().await;
        tokio::task::yield_now().await;
    }
}
