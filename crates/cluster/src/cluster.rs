//! The handle to the ranges of a store, for servers and tools.

use crate::balance::Balancer;
use crate::controller::{ChangeRequest, Event, Merged, Outcome, RANGES_MAX, Request, Split, State};
use crate::coordinator::Coordinator;
use crate::driver::{ChangeGuard, Driver, DriverParts};
use crate::error::{ChangeRefused, StartError};
use crate::host::{Host, LocalHost, LocalHostParts};
use crate::maintenance;
use crate::map::{MapRecord, MapStore, PartitionMap};
use crate::pins::PinRecords;
use crate::watch::{StoreLoad, Watch};
use bytes::Bytes;
use futures::future::BoxFuture;
use partita_engine::EngineSet;
use partita_heat::Window;
use partita_heat::history::{Archive, HeatHistory};
use partita_range::{RangeId, RowMemory};
use partita_rt::{Clock, Tasks};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
    /// Says which process serves each range.
    pub coordinator: Arc<dyn Coordinator>,
    /// The clock of heat and balancing.
    pub clock: Arc<dyn Clock>,
    /// The background tasks. Their shutdown stops the cluster.
    pub tasks: Tasks,
}

/// The ranges of a store: a controller, and a host in this process that serves all ranges. Used as `Arc<Cluster>`.
///
/// Requests run to their end even if the caller is dropped.
pub struct Cluster {
    driver: Arc<Driver>,
    host: Arc<LocalHost>,
    watch: Arc<Watch>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// Rolls back an interrupted change, opens all ranges (a new store gets its first range), and starts maintenance in
    /// the background.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn open(parts: ClusterParts) -> BoxFuture<'static, Result<Arc<Self>, StartError>> {
        Box::pin(async move {
            let coordinator = parts.coordinator;
            let host = Arc::new(LocalHost::new(LocalHostParts {
                engines: Arc::clone(&parts.engines),
                memory: parts.memory,
                store: Arc::clone(&parts.map),
                coordinator: Arc::clone(&coordinator),
                tasks: parts.tasks.clone(),
            }));
            let driver = DriverParts {
                host: Arc::clone(&host) as Arc<dyn Host>,
                coordinator,
                store: parts.map,
                engines: parts.engines,
                pins: parts.pins,
                clock: parts.clock,
                tasks: parts.tasks.clone(),
            };
            let driver = Driver::new(driver, State::new(RANGES_MAX));
            driver.start().await?;
            maintenance::start(&host, &driver, &parts.tasks);
            let watch = Arc::new(Watch::new(Arc::clone(&driver)));
            Ok(Arc::new(Self {
                driver,
                host,
                watch,
            }))
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
        &self.driver.parts().engines
    }

    /// The host that serves the ranges.
    #[must_use]
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.driver.parts().host
    }

    /// The cache that the ranges share.
    #[must_use]
    pub fn memory(&self) -> &Arc<RowMemory> {
        self.host.memory()
    }

    /// The background tasks, for callers that add work on the ranges.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.driver.parts().tasks
    }

    /// The newest stored version of the map.
    #[must_use]
    pub fn record(&self) -> MapRecord {
        self.driver.record()
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
        self.driver.ask(Request::Change(change)).await
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
            self.driver.ask(request).await.map(drop)
        })
    }

    /// Waits for the change lock. Cancel safe.
    ///
    /// # Errors
    /// [`ChangeRefused::Failed`].
    pub fn lock_changes(&self) -> BoxFuture<'_, Result<ChangeGuard, ChangeRefused>> {
        Box::pin(self.driver.lock_changes())
    }

    /// Runs a maintenance round: copies shared files, deletes files that nothing reads, releases pins that are in no
    /// snapshot record, and deletes databases of replaced ranges.
    pub fn maintain(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (host, driver) = (Arc::clone(&self.host), Arc::clone(&self.driver));
            let shutdown = self.tasks().shutdown();
            let round = async move { maintenance::round(&host, &driver, &shutdown).await };
            let ended = self.tasks().spawn("maintenance on request", round).await;
            if let Err(error) = ended {
                tracing::error!(%error, "a maintenance round failed");
            }
        })
    }

    /// Deletes databases of replaced ranges whose files nothing reads. A part of [`Cluster::maintain`].
    pub fn delete_replaced(&self) -> BoxFuture<'_, ()> {
        Box::pin(maintenance::delete_replaced(&self.driver))
    }

    /// Releases pins that are in no snapshot record, if due. A part of [`Cluster::maintain`].
    pub fn release_pins(&self) -> BoxFuture<'_, ()> {
        Box::pin(maintenance::release_pins(&self.driver))
    }

    /// Reports a failure that may have left pins without a snapshot record, so that the next rounds look for them.
    pub fn suspect_pins(&self) {
        self.driver.feed(Event::PinsSuspected);
    }

    /// Starts to watch the ranges, and to balance them if `balancer` is set. With an archive the heat history survives
    /// restarts.
    pub fn start_watching(&self, balancer: Option<Balancer>, archive: Option<Archive>) {
        if let Some(balancer) = balancer {
            self.driver.with_state(|state| state.balance_with(balancer));
        }
        self.watch.start(archive);
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
        self.driver.with_state(|state| state.balance_counts())
    }

    /// Closes all ranges: later requests are refused, batches already submitted are finished first.
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.host.close())
    }
}
