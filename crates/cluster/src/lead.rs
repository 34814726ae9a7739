//! The term of a manager: the controller of the ranges of all processes.

use crate::balance::{Balancer, Observed};
use crate::cluster::Cluster;
use crate::controller::{Event, RANGES_MAX_OF_CLUSTER, State};
use crate::coordinator::Coordinator;
use crate::driver::{Driver, DriverParts};
use crate::error::StartError;
use crate::host::Host;
use crate::maintenance;
use crate::map::{MapRecord, RangeSpec};
use futures::future::BoxFuture;
use partita_rt::Tasks;
use std::sync::Arc;
use std::time::Duration;

/// Time for the tasks of a term to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The controller of the ranges of all processes, in one term. Until it is dropped, [`Cluster`] decides with it.
pub struct Lead {
    cluster: Arc<Cluster>,
    driver: Arc<Driver>,
    tasks: Tasks,
}

impl std::fmt::Debug for Lead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lead").finish_non_exhaustive()
    }
}

impl Lead {
    /// Begins to manage the ranges of all processes, in a term with this random number: decides an interrupted change,
    /// and assigns ranges without an owner. `hosts` reaches the hosts of all processes.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn begin(
        cluster: Arc<Cluster>,
        coordinator: Arc<dyn Coordinator>,
        hosts: Arc<dyn Host>,
        term: u64,
    ) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(Self::start(cluster, coordinator, hosts, term))
    }

    async fn start(
        cluster: Arc<Cluster>,
        coordinator: Arc<dyn Coordinator>,
        hosts: Arc<dyn Host>,
        term: u64,
    ) -> Result<Self, StartError> {
        let tasks = Tasks::new();
        let parts = DriverParts {
            host: hosts,
            coordinator,
            store: Arc::clone(&cluster.store),
            engines: Arc::clone(&cluster.engines),
            pins: Arc::clone(&cluster.pins),
            clock: Arc::clone(&cluster.clock),
            tasks: tasks.clone(),
        };
        let driver = Driver::new(parts, State::of_manager(RANGES_MAX_OF_CLUSTER, term));
        driver.start().await?;
        let settings = *cluster.balance.lock();
        if let Some(settings) = settings {
            driver.with_state(|state| state.balance_with(Balancer::new(settings)));
        }
        maintenance::start_of_manager(&driver, &tasks);
        cluster.driver.store(Some(Arc::clone(&driver)));
        Ok(Self {
            cluster,
            driver,
            tasks,
        })
    }

    /// The newest stored version of the map.
    #[must_use]
    pub fn record(&self) -> MapRecord {
        self.driver.record()
    }

    /// The ranges that may be assigned to a server: not those of a change that is not decided yet.
    #[must_use]
    pub fn assignable(&self) -> Vec<RangeSpec> {
        self.driver.assignable()
    }

    /// Waits until ranges of a change may be assigned again, after this call. Cancel safe.
    pub fn decided(&self) -> impl Future<Output = ()> + Send + use<> {
        self.driver.decided()
    }

    /// Gives the balancer the observations of the ranges of all processes, in key order, and how many of these take
    /// ranges.
    pub fn observe(&self, ranges: Vec<Observed>, servers: usize) {
        let now = self.driver.parts().clock.monotonic();
        if self.driver.with_state(|state| state.is_balancing()) {
            self.driver.feed(Event::Observed {
                now,
                ranges,
                servers,
            });
        }
    }

    /// Completes when another process has stored a version of the map that this one wanted to store: the term is over.
    /// Cancel safe.
    pub async fn conflicted(&self) {
        self.driver.conflicted().await;
    }

    /// Ends the term. Requests that are running end with an error or with their outcome.
    pub async fn give_up(self) {
        for name in self.tasks.drain(PATIENCE).await {
            tracing::warn!(name, "a task of the manager did not end in time");
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.cluster.driver.store(None);
        self.tasks.shut_down();
    }
}
