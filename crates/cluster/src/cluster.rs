//! The handle to the ranges of a store, for servers and tools.

use crate::balance::{BalanceSettings, Balancer, Observed};
use crate::controller::{ChangeRequest, Event, Merged, Outcome, RANGES_MAX, Request, Split, State};
use crate::coordinator::{Coordinator, LocalCoordinator};
use crate::driver::{ChangeGuard, Driver, DriverParts};
use crate::error::{ChangeRefused, StartError};
use crate::host::{Host, LocalHost, LocalHostParts, Permission};
use crate::maintenance;
use crate::map::{MapRecord, MapStore, PartitionMap, RangeSpec};
use crate::pins::PinRecords;
use crate::targets::TargetLoad;
use crate::watch::{Observer, StoreLoad, Watch};
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use partita_engine::EngineSet;
use partita_heat::Window;
use partita_heat::history::{Archive, HeatHistory};
use partita_range::{RangeId, RowMemory};
use partita_rt::{Clock, Tasks};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The parts of a cluster.
pub struct ClusterParts {
    /// The databases.
    pub engines: Arc<dyn EngineSet>,
    /// The cache that the ranges share.
    pub memory: Arc<RowMemory>,
    /// The store of the partition map.
    pub map: Arc<dyn MapStore>,
    /// Lists the pins in snapshot records.
    pub pins: Arc<dyn PinRecords>,
    /// The clock of heat and balancing.
    pub clock: Arc<dyn Clock>,
    /// The background tasks. Their shutdown stops the cluster.
    pub tasks: Tasks,
}

/// What a process of several needs, beside [`ClusterParts`].
pub struct SharedParts {
    /// Whether the lease of this process is valid now.
    pub is_lease_valid: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Called when a range was taken over, before its first request.
    pub before_serving: Arc<dyn Fn(&RangeSpec) + Send + Sync>,
    /// The targets of this process, of which the manager gives it shares; `None` without targets.
    pub targets: Option<Arc<dyn TargetLoad>>,
}

/// The ranges of a store, as far as this process serves them: a host, and a controller if this process decides about
/// them. Used as `Arc<Cluster>`.
///
/// A process that is alone is host and controller of all ranges. In a cluster, each process is a host, and the elected
/// manager has the controller.
///
/// Requests run to their end even if the caller is dropped.
pub struct Cluster {
    pub(crate) engines: Arc<dyn EngineSet>,
    pub(crate) store: Arc<dyn MapStore>,
    pub(crate) pins: Arc<dyn PinRecords>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Tasks,
    pub(crate) host: Arc<LocalHost>,
    /// The targets of a process of several.
    pub(crate) targets: Option<Arc<dyn TargetLoad>>,
    watch: Arc<Watch>,
    /// The controller; `None` while another process has it.
    pub(crate) driver: ArcSwapOption<Driver>,
    /// The settings of the balancer; `None` if ranges are not balanced.
    pub(crate) balance: Mutex<Option<BalanceSettings>>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// Rolls back an interrupted change, opens all ranges (a new store gets its first range), and starts maintenance in
    /// the background: for a process that is alone.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn open(parts: ClusterParts) -> BoxFuture<'static, Result<Arc<Self>, StartError>> {
        Box::pin(async move {
            let coordinator: Arc<dyn Coordinator> = Arc::new(LocalCoordinator::default());
            let permission = Permission::Coordinator(Arc::clone(&coordinator));
            let cluster = Self::with_host(parts, permission, Arc::new(|_| {}), None);
            let driver = DriverParts {
                host: Arc::clone(&cluster.host) as Arc<dyn Host>,
                coordinator,
                store: Arc::clone(&cluster.store),
                engines: Arc::clone(&cluster.engines),
                pins: Arc::clone(&cluster.pins),
                clock: Arc::clone(&cluster.clock),
                tasks: cluster.tasks.clone(),
            };
            let driver = Driver::new(driver, State::new(RANGES_MAX));
            driver.start().await?;
            cluster.driver.store(Some(Arc::clone(&driver)));
            maintenance::start(&cluster.host, &driver, &cluster.tasks);
            Ok(cluster)
        })
    }

    /// A process of several, without ranges: it takes ranges over when it is told to, and may become the manager.
    #[must_use]
    pub fn join(parts: ClusterParts, shared: SharedParts) -> Arc<Self> {
        let permission = Permission::Lease(shared.is_lease_valid);
        let (before_serving, targets) = (shared.before_serving, shared.targets);
        let cluster = Self::with_host(parts, permission, before_serving, targets);
        maintenance::start_of_host(&cluster.host, &cluster.tasks);
        cluster
    }

    fn with_host(
        parts: ClusterParts,
        permission: Permission,
        before_serving: Arc<dyn Fn(&RangeSpec) + Send + Sync>,
        targets: Option<Arc<dyn TargetLoad>>,
    ) -> Arc<Self> {
        let host = Arc::new(LocalHost::new(LocalHostParts {
            engines: Arc::clone(&parts.engines),
            memory: parts.memory,
            store: Arc::clone(&parts.map),
            permission,
            before_serving,
            tasks: parts.tasks.clone(),
        }));
        Arc::new(Self {
            watch: Arc::new(Watch::new(Arc::clone(&host), Arc::clone(&parts.clock))),
            engines: parts.engines,
            store: parts.map,
            pins: parts.pins,
            clock: parts.clock,
            tasks: parts.tasks,
            host,
            targets,
            driver: ArcSwapOption::empty(),
            balance: Mutex::default(),
        })
    }

    /// The partition map of this process.
    #[must_use]
    pub fn map(&self) -> &Arc<PartitionMap> {
        self.host.map()
    }

    /// The databases.
    #[must_use]
    pub fn engines(&self) -> &Arc<dyn EngineSet> {
        &self.engines
    }

    /// The host of this process.
    #[must_use]
    pub fn local_host(&self) -> &Arc<LocalHost> {
        &self.host
    }

    /// The host that reaches all ranges, if this process has the controller, else only those of this process.
    #[must_use]
    pub fn host(&self) -> Arc<dyn Host> {
        match &*self.driver.load() {
            Some(driver) => Arc::clone(&driver.parts().host),
            None => Arc::clone(&self.host) as Arc<dyn Host>,
        }
    }

    /// The cache that the ranges share.
    #[must_use]
    pub fn memory(&self) -> &Arc<RowMemory> {
        self.host.memory()
    }

    /// The background tasks, for callers that add work on the ranges.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The newest stored version of the map; `None` while another process has the controller.
    #[must_use]
    pub fn record(&self) -> Option<MapRecord> {
        let driver = self.driver.load();
        driver.as_ref().map(|driver| driver.record())
    }

    /// # Errors
    /// [`ChangeRefused::NotManager`].
    fn driver(&self) -> Result<Arc<Driver>, ChangeRefused> {
        self.driver.load_full().ok_or(ChangeRefused::NotManager)
    }

    /// Splits a range at the start of the partition that holds `at`, or in the middle of its bytes.
    ///
    /// # Errors
    /// [`ChangeRefused`]; nothing changed.
    pub fn split(
        &self,
        range: RangeId,
        at: Option<Bytes>,
    ) -> BoxFuture<'_, Result<Split, ChangeRefused>> {
        Box::pin(async move {
            match self.change(ChangeRequest::Split { range, at }).await? {
                Outcome::Split(split) => Ok(split),
                other => unreachable!("unexpected outcome of a split: {other:?}"),
            }
        })
    }

    /// Merges two neighbours.
    ///
    /// # Errors
    /// [`ChangeRefused`]; nothing changed.
    pub fn merge(
        &self,
        left: RangeId,
        right: RangeId,
    ) -> BoxFuture<'_, Result<Merged, ChangeRefused>> {
        Box::pin(async move {
            match self.change(ChangeRequest::Merge { left, right }).await? {
                Outcome::Merged(merged) => Ok(merged),
                other => unreachable!("unexpected outcome of a merge: {other:?}"),
            }
        })
    }

    async fn change(&self, change: ChangeRequest) -> Result<Outcome, ChangeRefused> {
        self.driver()?.ask(Request::Change(change)).await
    }

    /// Waits for the change lock, and then refuses the writes to a range for `time`, as a split does: for tests of
    /// clients.
    ///
    /// # Errors
    /// [`ChangeRefused::NoSuchRange`], [`ChangeRefused::Failed`].
    pub fn freeze(
        &self,
        range: RangeId,
        time: Duration,
    ) -> BoxFuture<'_, Result<(), ChangeRefused>> {
        Box::pin(async move {
            let request = Request::Freeze { range, time };
            self.driver()?.ask(request).await.map(drop)
        })
    }

    /// Waits for the change lock. Cancel safe.
    ///
    /// # Errors
    /// [`ChangeRefused::Failed`].
    pub fn lock_changes(&self) -> BoxFuture<'_, Result<ChangeGuard, ChangeRefused>> {
        Box::pin(async move { self.driver()?.lock_changes().await })
    }

    /// Whether the change lock still excludes changes. Not any more when another process may have become the manager.
    #[must_use]
    pub fn is_locked_by(&self, lock: &ChangeGuard) -> bool {
        let driver = self.driver.load();
        let is_current = driver.as_ref().is_some_and(|driver| lock.is_of(driver));
        is_current && self.host.may_decide()
    }

    /// Runs a maintenance round: copies shared files, deletes files that nothing reads, and, if this process has the
    /// controller, releases pins that are in no snapshot record, and deletes databases of replaced ranges.
    pub fn maintain(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (host, driver) = (Arc::clone(&self.host), self.driver.load_full());
            let shutdown = self.tasks().shutdown();
            let round = async move {
                maintenance::round_of_host(&host, &shutdown).await;
                if let Some(driver) = driver {
                    maintenance::round_of_controller(&driver, &shutdown).await;
                }
            };
            let ended = self.tasks().spawn("maintenance on request", round).await;
            if let Err(error) = ended {
                tracing::error!(%error, "a maintenance round failed");
            }
        })
    }

    /// Deletes databases of replaced ranges whose files nothing reads. A part of [`Cluster::maintain`].
    pub fn delete_replaced(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(driver) = self.driver.load_full() {
                maintenance::delete_replaced(&driver).await;
            }
        })
    }

    /// Releases pins that are in no snapshot record, if due. A part of [`Cluster::maintain`].
    pub fn release_pins(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(driver) = self.driver.load_full() {
                maintenance::release_pins(&driver).await;
            }
        })
    }

    /// Reports a failure that may have left pins without a snapshot record, so that the next rounds look for them.
    pub fn suspect_pins(&self) {
        if let Some(driver) = self.driver.load_full() {
            driver.feed(Event::PinsSuspected);
        }
    }

    /// Starts to watch the ranges, and to balance them with these settings. With an archive the heat history survives
    /// restarts.
    pub fn start_watching(&self, balance: Option<BalanceSettings>, archive: Option<Archive>) {
        *self.balance.lock() = balance;
        let observer: Arc<dyn Observer> = match self.driver.load_full() {
            Some(driver) => {
                if let Some(settings) = balance {
                    let balancer = Balancer::new(settings);
                    driver.with_state(|state| state.balance_with(balancer));
                }
                Arc::new(ToController(driver))
            }
            None => Arc::new(HistoryOnly),
        };
        self.watch.start(archive, observer, &self.tasks);
    }

    /// The observations of the ranges of this process since the last call, in key order; none in the first call. For the
    /// manager, which asks for them every two seconds.
    #[must_use]
    pub fn observe_recent(&self) -> Vec<Observed> {
        self.watch.observe_recent()
    }

    /// Reads the heat history.
    pub fn with_heat<T>(&self, read: impl FnOnce(&HeatHistory) -> T) -> T {
        read(&self.watch.history())
    }

    /// The last closed window of a range; `None` for a range that was not served when the window was closed.
    #[must_use]
    pub fn last_window(&self, range: RangeId) -> Option<Window> {
        self.watch.last_window(range)
    }

    /// The load of all ranges in the last closed window; `None` before the first window.
    #[must_use]
    pub fn last_load(&self) -> Option<StoreLoad> {
        self.watch.last_load()
    }

    /// An estimate of the processors that the requests of a range used in its last window: its share of the process
    /// total, capped by the maximum cost of its requests. Good enough to find a range that keeps a processor busy.
    /// `None` as in [`Cluster::last_window`].
    #[must_use]
    pub fn last_cores(&self, range: RangeId) -> Option<f64> {
        self.watch.last_cores(range)
    }

    /// How often the balancer found no split key, and the number of its completed splits and merges.
    #[must_use]
    pub fn balance_counts(&self) -> (u64, u64) {
        let driver = self.driver.load();
        let driver = driver.as_ref();
        driver.map_or((0, 0), |driver| {
            driver.with_state(|state| state.balance_counts())
        })
    }

    /// Closes all ranges: later requests are refused, batches already submitted are finished first.
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.host.close())
    }
}

/// Gives the observations to the controller of this process.
struct ToController(Arc<Driver>);

impl Observer for ToController {
    fn needs_split_points(&self) -> bool {
        self.0.with_state(|state| state.is_balancing())
    }

    fn observed(&self, now: Instant, ranges: Vec<Observed>) {
        let servers = 1;
        self.0.feed(Event::Observed {
            now,
            ranges,
            servers,
        });
    }
}

/// Observes nothing: the manager of the cluster asks for the load by itself.
struct HistoryOnly;

impl Observer for HistoryOnly {
    fn needs_split_points(&self) -> bool {
        false
    }

    fn observed(&self, _now: Instant, _ranges: Vec<Observed>) {}
}
