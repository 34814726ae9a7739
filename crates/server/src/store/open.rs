//! The open data of a server: its ranges, its snapshots and the store of their records.

use std::sync::Arc;

use object_store::ObjectStore;
use partita_cluster::{Balancer, Cluster, ClusterParts, Coordinator, ObjectMapStore};
use partita_heat::history::Archive;
use partita_range::RowMemory;
use partita_rt::{Clock, Tasks};
use partita_snapshot::{ObjectSnapshotStore, SnapshotPins, Snapshots};

use super::Error;
use super::engines::Engines;
use super::remote_store::RemoteStore;
use crate::config::{Place, Store};
use crate::scrub::HEAT_FOLDER;

/// The open data of a server. Close it before dropping it.
#[derive(Debug)]
pub(crate) struct OpenRanges {
    /// The ranges.
    pub(crate) cluster: Arc<Cluster>,
    /// The snapshots.
    pub(crate) snapshots: Arc<Snapshots>,
    /// The store of the map, the heat history and the records of snapshots; `None` if the data is in memory.
    pub(crate) objects: Option<Arc<dyn ObjectStore>>,
    /// The object store; `None` if the data is in a directory or in memory.
    pub(crate) remote: Option<RemoteStore>,
}

impl OpenRanges {
    /// Opens the databases, the ranges of the partition map, and the snapshots. `objects` are those of a data directory,
    /// if they are not files in it. `tasks` are the background tasks of the ranges: drain them before the close.
    ///
    /// An object store is taken over from the server that has it open.
    pub(crate) async fn open(
        store: &Store,
        objects: Option<Arc<dyn ObjectStore>>,
        coordinator: Arc<dyn Coordinator>,
        clock: &Arc<dyn Clock>,
        tasks: Tasks,
    ) -> Result<Self, Error> {
        let memory = Arc::new(RowMemory::new(store.entity_cache_bytes));
        let Engines {
            databases,
            objects,
            remote,
        } = Engines::open(store, objects, clock).await?;
        let is_durable = store.place != Place::Memory;
        let heat = is_durable.then(|| Archive::new(Arc::clone(&objects), HEAT_FOLDER.into()));
        let files = is_durable.then(|| Arc::clone(&objects));
        let records = Arc::new(ObjectSnapshotStore::new(Arc::clone(&objects)));
        let opened = Cluster::open(ClusterParts {
            engines: databases,
            memory,
            map: Arc::new(ObjectMapStore::new(objects)),
            pins: Arc::new(SnapshotPins::new(records.clone())),
            coordinator,
            clock: Arc::clone(clock),
            tasks,
        });
        let cluster = opened.await.map_err(|source| Error::Ranges {
            data: store.place.describe(),
            source,
        })?;
        cluster.start_watching(store.balance.map(Balancer::new), heat);
        let snapshots = Snapshots::start(Arc::clone(&cluster), records);
        Ok(Self {
            cluster,
            snapshots,
            objects: files,
            remote,
        })
    }
}
