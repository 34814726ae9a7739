//! Opens and closes the data, and starts the services over it.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use partita_cluster::{Cluster, RangeSpec, SharedParts, TargetLoad, TargetScope};
use partita_engine::{ChangeError, EngineSet, LogNumber};
use partita_rt::{Clock, Tasks};
use partita_service::{FarRows, MemoryBudget, Storage, Targets};
use partita_table::{Service, ServiceSettings};

use super::error::Error;
use crate::config::{Limits, Settings};
use crate::environment::Environment;
use crate::forwarding::{Membership, PeerRows};
use crate::freed_memory;
use crate::known_names::LastNames;
use crate::scrub::Scrubber;
use crate::status::{OpenStore, ServerStatus};
use crate::store::OpenRanges;

/// Time for background work and the admin port to end, after the last request.
pub(super) const BACKGROUND_DRAIN: Duration = Duration::from_secs(5);

/// The sweep looks for late writes to a dropped table or queue for the longest time that a request can take, plus this time.
const DROP_GRACE_SPARE: Duration = Duration::from_secs(20);

/// The services of an open store.
#[derive(Debug)]
pub struct Services {
    pub(crate) tables: Arc<Service>,
    pub(crate) queues: Arc<partita_queue::Service>,
}

impl Services {
    fn into_parts(self) -> (Option<Arc<Service>>, Option<Arc<partita_queue::Service>>) {
        (Some(self.tables), Some(self.queues))
    }
}

/// What opening the store needs.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(super) settings: Arc<Settings>,
    pub(super) environment: Environment,
    pub(super) memory: Arc<MemoryBudget>,
    pub(super) status: Arc<ServerStatus>,
    /// The background tasks of the open store.
    pub(super) tasks: Tasks,
}

impl Opening {
    /// Opens the store. A member of a cluster gets its services from its membership.
    pub(super) async fn begin(
        &self,
        membership: Option<&Arc<Membership>>,
    ) -> Result<(Option<Arc<Service>>, Option<Arc<partita_queue::Service>>), Error> {
        let Some(membership) = membership else {
            return self.open().await.map(Services::into_parts);
        };
        let services = self.join(membership).await?;
        membership.serve(services.tables, services.queues);
        Ok((None, None))
    }

    /// Opens the store, and starts its services and their background tasks.
    async fn open(&self) -> Result<Services, Error> {
        let store = &self.settings.store;
        let opening = OpenRanges::open(store, &self.environment, self.tasks.clone());
        let ranges = opening.await?;
        let storage = self.storage(&ranges.cluster, self.targets().map(Arc::new));
        let storage = storage.with_timestamps_after(ranges.cluster.engines().newest_row_time());
        Ok(self.serve(ranges, Arc::new(storage)))
    }

    /// Opens the store as one of several processes, without a range, and starts the services.
    async fn join(&self, membership: &Arc<Membership>) -> Result<Services, Error> {
        let far = Arc::new(PeerRows::new(Arc::clone(membership)));
        let own: Arc<OnceLock<OwnStorage>> = Arc::default();
        let (gate, before) = (Arc::clone(membership.gate()), Arc::clone(&own));
        let of_cluster = Arc::clone(membership);
        let count_servers =
            Arc::new(move |scope: &TargetScope| of_cluster.routing().owner_count(scope));
        let targets = self.targets();
        let targets = targets.map(|targets| Arc::new(targets.in_cluster(count_servers)));
        let shared = SharedParts {
            is_lease_valid: Arc::new(move || gate.is_open()),
            before_serving: Arc::new(move |range| before_serving(&before, range)),
            targets: targets
                .clone()
                .map(|targets| targets as Arc<dyn TargetLoad>),
        };
        let (store, tasks) = (&self.settings.store, self.tasks.clone());
        let ranges = OpenRanges::join(store, &self.environment, tasks, shared).await?;
        let rows = Arc::clone(&far) as Arc<dyn FarRows>;
        let storage = self.storage(&ranges.cluster, targets).with_far_rows(rows);
        let storage = Arc::new(storage);
        far.set_own(&storage);
        let engines = Arc::clone(ranges.cluster.engines());
        own.get_or_init(|| (engines, Arc::downgrade(&storage)));
        Ok(self.serve(ranges, storage))
    }

    /// Starts the services over open data.
    fn serve(&self, ranges: OpenRanges, storage: Arc<Storage>) -> Services {
        let (settings, tasks) = (&*self.settings, &self.tasks);
        start_scrub(&self.status, &ranges, &self.environment.clock, tasks);
        freed_memory::release_regularly(&storage.memory, tasks);
        let (limits, targets) = (service_settings(&settings.limits), settings.targets.clone());
        let tables = Arc::new(Service::new(Arc::clone(&storage), limits, targets));
        tables.start(tasks);
        // Also without a queue port: its background tasks return the space of deleted queues.
        let queues = queue_service(storage, settings, tasks);
        self.status.opened(OpenStore {
            cluster: ranges.cluster,
            snapshots: ranges.snapshots,
            remote: ranges.remote,
            last_names: LastNames::default(),
            service: Arc::clone(&tables),
            queues: Arc::clone(&queues),
        });
        Services { tables, queues }
    }

    /// The storage that all services share.
    fn storage(&self, cluster: &Cluster, targets: Option<Arc<Targets>>) -> Storage {
        let clock = Arc::clone(&self.environment.clock);
        warn_of_lag(cluster.engines().wall_clock_lag());
        let storage = Storage::new(Arc::clone(cluster.map()), clock);
        let storage = storage.with_memory(Arc::clone(&self.memory));
        match targets {
            Some(targets) => storage.with_shared_targets(targets),
            None => storage,
        }
    }

    /// The targets of the settings, if there are any.
    fn targets(&self) -> Option<Targets> {
        let settings = &self.settings;
        let is_off = settings.targets.is_off() && settings.queue_targets.queue.is_unlimited();
        let now = self.environment.clock.monotonic();
        (!is_off).then(|| Targets::new(settings.targets.account, now))
    }

    /// The ranges, once the store is open.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.status.cluster()
    }

    /// The log of this process, if other processes use the store at the same time.
    pub(crate) fn log(&self) -> Option<LogNumber> {
        self.cluster()?.engines().log()
    }

    /// Begins a new log for this process, which serves no range.
    ///
    /// # Errors
    /// See [`ChangeError`].
    pub(crate) async fn renew_log(&self) -> Result<(), ChangeError> {
        match self.cluster().map(|cluster| cluster.engines()) {
            Some(engines) if engines.log().is_some() => engines.renew_log().await,
            _ => Ok(()),
        }
    }

    /// Completes when another server has taken over the open store, and says which. Cancel safe.
    pub(crate) fn fenced(&self) -> BoxFuture<'_, Arc<str>> {
        match self.status.cluster() {
            Some(cluster) => cluster.engines().fenced(),
            None => Box::pin(std::future::pending()),
        }
    }

    /// Ends the background tasks and closes the store, if it is open. Returns the names of tasks that did not end in
    /// time.
    pub(crate) async fn close(&self) -> Vec<&'static str> {
        let late = self.tasks.drain(BACKGROUND_DRAIN).await;
        if let Some(cluster) = self.status.cluster() {
            cluster.close().await;
        }
        late
    }
}

/// The databases and the storage of this process, once they are open.
type OwnStorage = (Arc<dyn EngineSet>, Weak<Storage>);

/// Prepares the services for a range that was taken over: its rows may be later than those of this process, and the
/// server that had the catalog may have lent its rows.
fn before_serving(own: &OnceLock<OwnStorage>, range: &RangeSpec) {
    let Some((engines, storage)) = own.get() else {
        return;
    };
    let Some(storage) = storage.upgrade() else {
        return;
    };
    storage.timestamps.pass(engines.newest_row_time());
    if range.bounds.start.is_empty() {
        storage.catalog_taken_over();
    }
}

/// Searches for damaged files in the background.
fn start_scrub(
    status: &ServerStatus,
    ranges: &OpenRanges,
    clock: &Arc<dyn Clock>,
    background: &Tasks,
) {
    let scrubber = Scrubber {
        scrub: Arc::clone(&status.scrub),
        cluster: Arc::clone(&ranges.cluster),
        objects: ranges.objects.clone(),
        clock: Arc::clone(clock),
    };
    background.spawn("scrub", scrubber.run(background.shutdown()));
}

fn warn_of_lag(lag: Duration) {
    if !lag.is_zero() {
        tracing::warn!(
            seconds = lag.as_secs(),
            "the wall clock is behind the newest stored row: new Timestamps continue after that row; \
             check the machine's clock"
        );
    }
}

/// The Queue service, with its background tasks.
fn queue_service(
    storage: Arc<Storage>,
    settings: &Settings,
    background: &Tasks,
) -> Arc<partita_queue::Service> {
    let limits = partita_queue::ServiceSettings {
        drop_grace: drop_grace(&settings.limits),
    };
    let targets = settings.queue_targets;
    let service = partita_queue::Service::new(storage, limits, targets, background.clone());
    let service = Arc::new(service);
    service.start(background);
    service
}

/// Longer than any request, including its body and its answer.
fn drop_grace(limits: &Limits) -> Duration {
    limits.request_timeout + 2 * limits.stall_timeout + DROP_GRACE_SPARE
}

fn service_settings(limits: &Limits) -> ServiceSettings {
    ServiceSettings {
        drop_grace: drop_grace(limits),
        transactions_max: limits.batches_max,
        ..ServiceSettings::default()
    }
}
