//! The open data of a server: its ranges, its snapshots and the store of their records.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use partita_cluster::{BalanceSettings, Cluster, ClusterParts, ObjectMapStore, SharedParts};
use partita_heat::history::Archive;
use partita_range::RowMemory;
use partita_rt::Tasks;
use partita_snapshot::{ObjectSnapshotStore, SnapshotPins, Snapshots};

use super::Error;
use super::engines::{Engines, Sharing};
use super::remote_store::RemoteStore;
use crate::config::{Place, Store};
use crate::environment::Environment;
use crate::scrub::HEAT_FOLDER;

/// How long a range of a cluster must be hot before it is split.
const HOT_FOR: Duration = Duration::from_secs(4);

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

/// Databases, and the records about them, before a range is open.
struct Parts {
    cluster: ClusterParts,
    records: Arc<ObjectSnapshotStore>,
    objects: Arc<dyn ObjectStore>,
    remote: Option<RemoteStore>,
}

impl OpenRanges {
    /// Opens the databases, the ranges of the partition map, and the snapshots. `tasks` are the background tasks of the
    /// ranges: drain them before the close.
    ///
    /// An object store is taken over from the server that has it open.
    pub(crate) async fn open(
        store: &Store,
        environment: &Environment,
        tasks: Tasks,
    ) -> Result<Self, Error> {
        let parts = Parts::open(store, environment, tasks, Sharing::Alone).await?;
        let opened = Cluster::open(parts.cluster).await;
        let cluster = opened.map_err(|source| Error::Ranges {
            data: store.place.describe(),
            source,
        })?;
        let is_durable = store.place != Place::Memory;
        let heat = || Archive::new(Arc::clone(&parts.objects), HEAT_FOLDER.into());
        cluster.start_watching(store.balance, is_durable.then(heat));
        Ok(Self {
            snapshots: Snapshots::start(Arc::clone(&cluster), parts.records),
            cluster,
            objects: is_durable.then_some(parts.objects),
            remote: parts.remote,
        })
    }

    /// Opens the store as one of several processes: without a range.
    pub(crate) async fn join(
        store: &Store,
        environment: &Environment,
        tasks: Tasks,
        shared: SharedParts,
    ) -> Result<Self, Error> {
        let parts = Parts::open(store, environment, tasks, Sharing::Shared).await?;
        let cluster = Cluster::join(parts.cluster, shared);
        // A hot range is split, because its halves can be served by two servers.
        let balance = store.balance.map(|settings| BalanceSettings {
            by_load: true,
            hot_for: HOT_FOR,
            ..settings
        });
        // The heat history of this process is in memory only: the ranges move.
        cluster.start_watching(balance, None);
        Ok(Self {
            snapshots: Snapshots::start(Arc::clone(&cluster), parts.records),
            cluster,
            objects: Some(parts.objects),
            remote: parts.remote,
        })
    }
}

impl Parts {
    async fn open(
        store: &Store,
        environment: &Environment,
        tasks: Tasks,
        sharing: Sharing,
    ) -> Result<Self, Error> {
        let memory = Arc::new(RowMemory::new(store.entity_cache_bytes));
        let Engines {
            databases,
            objects,
            remote,
        } = Engines::open(store, environment, sharing).await?;
        let records = Arc::new(ObjectSnapshotStore::new(Arc::clone(&objects)));
        let cluster = ClusterParts {
            engines: databases,
            memory,
            map: Arc::new(ObjectMapStore::new(Arc::clone(&objects))),
            pins: Arc::new(SnapshotPins::new(records.clone())),
            clock: Arc::clone(&environment.clock),
            tasks,
        };
        Ok(Self {
            cluster,
            records,
            objects,
            remote,
        })
    }
}
