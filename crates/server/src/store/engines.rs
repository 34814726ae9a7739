//! The databases of a server, in a directory, in an object store or in memory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use partita_cluster::VersionStore;
use partita_engine::EngineSet;
use partita_engine::memory::MemoryEngineSet;
use partita_engine::slate::{self, SlateEngineSet};
use partita_rt::place::{Client, probe};
use partita_rt::threads::spawn_blocking;
use partita_rt::{Clock, DataDir};
use tokio::runtime::Handle;

use super::Error;
use super::identity::identify;
use super::remote_store::RemoteStore;
use super::version;
use crate::config::{DiskCacheSettings, ObjectStorePlace, Place, Store};
use crate::environment::Environment;
use crate::open_files;

/// How often a database in an object store looks for files to merge. A burst of writes makes about ten files of level 0 in
/// this time, half of those that it may have.
const COMPACTION_POLL: Duration = Duration::from_secs(5);

/// How often a database in an object store looks for replaced files to delete. Each look is some 30 requests. After a
/// compaction, files are deleted earlier, on request.
const GARBAGE_INTERVAL: Duration = Duration::from_secs(600);

/// Whether other processes use the store at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// This process has it for itself.
    Alone,
    /// Other processes of the cluster use it.
    Shared,
}

/// The databases of a server, and the store of the other objects.
pub(super) struct Engines {
    pub(super) databases: Arc<dyn EngineSet>,
    pub(super) objects: Arc<dyn ObjectStore>,
    /// The object store of the settings, if the data is in one.
    pub(super) remote: Option<RemoteStore>,
}

/// Maximum bytes of writes in the commit pipeline: a sixteenth of the available memory, from 8 MiB (the group that is
/// being written, and the next one) to 64 MiB.
fn pipeline_bytes(available: u64) -> u32 {
    let bytes = (available / 16).clamp(8 << 20, 64 << 20);
    u32::try_from(bytes).expect("64 MiB are less than 4 GiB")
}

impl Engines {
    /// Opens the databases of the settings.
    pub(super) async fn open(
        store: &Store,
        environment: &Environment,
        sharing: Sharing,
    ) -> Result<Self, Error> {
        let (home, remote) = match &store.place {
            Place::Memory => return Ok(Self::in_memory()),
            Place::Directory(path) => (in_directory(path, environment.objects.clone())?, None),
            Place::ObjectStore(place) => {
                let found = ObjectStores::open(place, environment).await?;
                let home = slate::Home {
                    disk_cache: disk_cache(place).await?,
                    ..found.home(place, sharing)
                };
                (home, Some(found.remote))
            }
        };
        let home = slate::Home {
            clock: Arc::clone(&environment.clock),
            ..home
        };
        let objects = Arc::clone(&home.store);
        let available = partita_rt::memory::available();
        let usual = slate::Settings::default();
        let settings = slate::Settings {
            cache_bytes: store.block_cache_bytes,
            in_flight_bytes_max: pipeline_bytes(available),
            garbage_age: store.garbage_age,
            reads: store.reader,
            compaction_poll: match remote {
                Some(_) => COMPACTION_POLL,
                None => usual.compaction_poll,
            },
            garbage_interval: match remote {
                Some(_) => GARBAGE_INTERVAL,
                None => usual.garbage_interval,
            },
            ..usual
        };
        let opened = SlateEngineSet::in_home(home, settings).await;
        let databases = opened.map_err(|source| Error::Open {
            data: store.place.describe(),
            source,
        })?;
        Ok(Self {
            databases: Arc::new(databases),
            objects,
            remote,
        })
    }

    fn in_memory() -> Self {
        Self {
            databases: Arc::new(MemoryEngineSet::new()),
            objects: Arc::new(InMemory::new()),
            remote: None,
        }
    }
}

/// Bytes of rows that are only in the log and in memory: an eighth of the available memory.
fn unflushed_bytes_max() -> u64 {
    partita_rt::memory::available() / 8
}

fn in_directory(path: &Path, objects: Option<Arc<dyn ObjectStore>>) -> Result<slate::Home, Error> {
    let data = Arc::new(DataDir::open(path)?);
    data.keep_open(open_files::data_files_max());
    let mut home = slate::Home::in_directory_within(data, unflushed_bytes_max());
    if let Some(objects) = objects {
        home.store = objects;
    }
    Ok(home)
}

/// The object stores of a place, probed.
pub(super) struct ObjectStores {
    files: Arc<dyn ObjectStore>,
    log: Arc<dyn ObjectStore>,
    remote: RemoteStore,
    versions: VersionStore,
}

impl ObjectStores {
    /// Opens the object stores, probes them, and checks that they belong together, and that this program supports their
    /// version. Their connections live on the current runtime, which serves the requests. The log has connections of its
    /// own, so that no flush or compaction delays it.
    pub(super) async fn open(
        place: &ObjectStorePlace,
        environment: &Environment,
    ) -> Result<Self, Error> {
        let (given, clock) = (environment.objects.as_ref(), &*environment.clock);
        let runtime = Handle::current();
        let files_client = Client::Files(runtime.clone());
        let opened = |place, client: &Client| match given {
            Some(given) => Ok(Arc::clone(given)),
            None => opened(place, client),
        };
        let files = opened(&place.files, &files_client)?;
        let clock_ahead_seconds = fit(&place.files, &*files, clock).await?;
        // The log repeats its requests itself, the probe and the record need a client that does.
        let separate = match &place.log {
            Some(log) => {
                let store = opened(log, &files_client)?;
                fit(log, &*store, clock).await?;
                Some(store)
            }
            None => None,
        };
        let checked = version::check(&files, environment.versions).await;
        let versions = checked.map_err(|source| Error::Version {
            place: place.files.url(),
            source,
        })?;
        let identified = identify(&*files, separate.as_deref()).await;
        let id = identified.map_err(|source| Error::Identity {
            place: place.files.url(),
            source,
        })?;
        let log_place = place.log.as_ref().unwrap_or(&place.files);
        let log = opened(log_place, &Client::Log(runtime))?;
        let remote = RemoteStore {
            id,
            clock_ahead_seconds,
        };
        if let Some(note) = remote.clock_note() {
            tracing::warn!("{note}");
        }
        Ok(Self {
            files,
            log,
            remote,
            versions,
        })
    }

    pub(super) fn home(&self, place: &ObjectStorePlace, sharing: Sharing) -> slate::Home {
        let settings = slate::LogSettings {
            gap: place.log_gap,
            unflushed_bytes_max: unflushed_bytes_max(),
        };
        let (files, log) = (Arc::clone(&self.files), Arc::clone(&self.log));
        match sharing {
            Sharing::Alone => slate::Home::in_object_store(files, log, settings),
            Sharing::Shared => slate::Home::in_shared_store(files, log, settings),
        }
    }
}

/// Opens the disk cache of an object store.
async fn disk_cache(place: &ObjectStorePlace) -> Result<Option<Arc<slate::DiskCache>>, Error> {
    let Some(DiskCacheSettings { folder, bytes_max }) = place.disk_cache.clone() else {
        return Ok(None);
    };
    let opening = spawn_blocking(move || slate::DiskCache::open(folder, bytes_max)).await;
    let opened = opening.expect("opening the disk cache does not panic");
    opened.map(Some).map_err(Error::DiskCache)
}

/// Probes an object store and reads its identity and its version, for a server that may open it later.
pub(crate) async fn examine(
    place: &ObjectStorePlace,
    environment: &Environment,
) -> Result<(RemoteStore, VersionStore), Error> {
    let found = ObjectStores::open(place, environment).await?;
    Ok((found.remote, found.versions))
}

pub(super) fn opened(
    place: &partita_rt::Place,
    client: &Client,
) -> Result<Arc<dyn ObjectStore>, Error> {
    place.server_store(client).map_err(|source| Error::Place {
        place: place.url(),
        source,
    })
}

/// Probes a store: refuses it, or returns how far the clock is ahead of the store's, in seconds.
async fn fit(
    place: &partita_rt::Place,
    store: &dyn ObjectStore,
    clock: &dyn Clock,
) -> Result<i64, Error> {
    let probed = probe(store, clock).await;
    let probed = probed.map_err(|source| Error::Probe {
        place: place.url(),
        source,
    })?;
    Ok(probed.clock_ahead_seconds)
}
