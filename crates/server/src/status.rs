//! Health and parts of the server, as the admin port reports them.
//!
//! A server is *starting* until its data is open, then *ready*; *degraded* while it refuses writes and serves reads, or
//! cannot read a damaged file; *unavailable* while it serves neither; *stopping* after a request to stop. The state is
//! computed from the parts at each request, so it is never stale.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use partita_cluster::Cluster;
use partita_coordinator::Routes;
use partita_engine::{DamagedFile, Health, Stats};
use partita_range::RowMemory;
use partita_rt::{Clock, Shutdown};
use partita_snapshot::Snapshots;
use partita_table::Service;
use partita_wire::admin::ServerState;

use crate::config::Settings;
use crate::forwarding::{Membership, RegistryRouting, Unowned};
use crate::jobs::Jobs;
use crate::known_names::{KnownNames, LastNames};
use crate::metrics::Metrics;
use crate::scrub::Scrub;
use crate::store::RemoteStore;

/// The addresses on which the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// The table service; `None` for a server of a cluster without ports for clients.
    pub table: Option<SocketAddr>,
    /// The queue service; `None` if it is disabled.
    pub queue: Option<SocketAddr>,
    /// The admin port; `None` if it is disabled.
    pub admin: Option<SocketAddr>,
}

/// The store, once its data is open.
#[derive(Debug)]
pub struct OpenStore {
    /// The ranges.
    pub cluster: Arc<Cluster>,
    /// The snapshots.
    pub snapshots: Arc<Snapshots>,
    /// The table service.
    pub service: Arc<Service>,
    /// The queue service.
    pub queues: Arc<partita_queue::Service>,
    /// The object store; `None` if the data is in a directory or in memory.
    pub(crate) remote: Option<RemoteStore>,
    /// The names of tables and queues that the admin port has read last.
    pub(crate) last_names: LastNames,
}

impl OpenStore {
    /// The names of all tables and queues, or those that were read last if they cannot be read now.
    pub(crate) async fn names(&self) -> KnownNames {
        let is_shared = self.remote.is_some();
        let names = &self.last_names;
        names.read(&self.service, &self.queues, is_shared).await
    }
}

/// What a server knows about the cluster of its settings.
#[derive(Debug)]
pub(crate) struct ClusterView {
    /// The name of this server.
    pub(crate) name: String,
    /// The copy of the registry's keys.
    pub(crate) routes: Routes,
    /// Reaches the other servers.
    pub(crate) routing: Arc<RegistryRouting>,
    /// The ranges without a living server.
    pub(crate) unowned: Arc<Unowned>,
}

/// The parts of the server that the admin port reports on. Shared by `Arc`.
#[derive(Debug)]
pub struct ServerStatus {
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) listening: Listening,
    pub(crate) started_at: SystemTime,
    clock: Arc<dyn Clock>,
    started: Instant,
    pub(crate) jobs: Jobs,
    pub(crate) scrub: Arc<Scrub>,
    open: OnceLock<OpenStore>,
    membership: OnceLock<Arc<Membership>>,
    cluster_view: OnceLock<ClusterView>,
    shutdown: Shutdown,
}

impl ServerStatus {
    /// The status of a server that is starting.
    pub fn new(
        settings: Arc<Settings>,
        metrics: Arc<Metrics>,
        listening: Listening,
        clock: Arc<dyn Clock>,
        shutdown: Shutdown,
    ) -> ServerStatus {
        ServerStatus {
            scrub: Arc::new(Scrub::new(settings.store.scrub_rate)),
            settings,
            metrics,
            listening,
            started_at: clock.now(),
            started: clock.monotonic(),
            clock,
            jobs: Jobs::default(),
            open: OnceLock::new(),
            membership: OnceLock::new(),
            cluster_view: OnceLock::new(),
            shutdown,
        }
    }

    /// Records that the data is open. A second call has no effect.
    pub fn opened(&self, store: OpenStore) {
        self.open.get_or_init(|| store);
    }

    /// Records that the server is a member of a cluster. A second call has no effect.
    pub(crate) fn joined(&self, membership: Arc<Membership>) {
        self.membership.get_or_init(|| membership);
    }

    /// Records the cluster of the settings. A second call has no effect.
    pub(crate) fn sees(&self, view: ClusterView) {
        self.cluster_view.get_or_init(|| {
            self.jobs.number_apart();
            view
        });
    }

    /// The cluster of the settings.
    pub(crate) fn cluster_view(&self) -> Option<&ClusterView> {
        self.cluster_view.get()
    }

    /// Whether this server serves a range now.
    pub(crate) fn is_hosting(&self) -> bool {
        let cluster = self.cluster();
        cluster.is_some_and(|cluster| !cluster.map().ranges().is_empty())
    }

    /// The part of the server in its cluster; `None` for one that is alone.
    pub(crate) fn membership(&self) -> Option<&Arc<Membership>> {
        self.membership.get()
    }

    /// The ranges, once the data is open.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.open.get().map(|store| &store.cluster)
    }

    /// Whether the server splits and merges ranges automatically.
    pub(crate) fn balances(&self) -> bool {
        self.settings.store.balance.is_some()
    }

    /// The store, once its data is open.
    pub(crate) fn open(&self) -> Option<&OpenStore> {
        self.open.get()
    }

    /// The wall time.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    /// The monotonic time.
    pub(crate) fn monotonic(&self) -> Instant {
        self.clock.monotonic()
    }

    /// Whether only this machine reaches the admin port.
    pub(crate) fn admin_is_local(&self) -> bool {
        self.listening
            .admin
            .is_some_and(|address| address.ip().is_loopback())
    }

    /// Time since the process started.
    pub fn uptime(&self) -> Duration {
        self.clock.monotonic().duration_since(self.started)
    }

    /// The state, and its reasons unless the server is ready.
    pub fn state(&self) -> (ServerState, Vec<String>) {
        let (mut state, reason) = self.state_of_engine();
        let damaged = self.damaged_files();
        if state == ServerState::Ready && !damaged.is_empty() {
            state = ServerState::Degraded;
        }
        let reason = reason.into_iter().map(str::to_owned);
        let reasons = reason.chain(damaged.iter().map(damage_reason));
        (state, reasons.collect())
    }

    fn state_of_engine(&self) -> (ServerState, Option<&'static str>) {
        if self.shutdown.is_requested() {
            return (ServerState::Stopping, Some("the server is stopping"));
        }
        let membership = self.membership();
        if membership.is_some_and(|membership| !membership.has_map()) {
            return (ServerState::Starting, Some("the map is being read"));
        }
        match self.engine_health() {
            None => (ServerState::Starting, Some("the data is being opened")),
            Some(Health::Healthy) => (ServerState::Ready, None),
            Some(Health::DiskFull) => (
                ServerState::Degraded,
                Some("the disk is full: writes are refused until there is room"),
            ),
            Some(Health::Backlogged) => (
                ServerState::Degraded,
                Some("the disk is too slow for the writes: writes are refused for now"),
            ),
            Some(Health::Recovering) => (
                ServerState::Unavailable,
                Some("a write or sync failed: the data is being reopened"),
            ),
            Some(Health::Fenced) => (
                ServerState::Unavailable,
                Some("another server has taken over the store"),
            ),
            Some(Health::Closed) => (ServerState::Unavailable, Some("the store is closed")),
        }
    }

    /// Warnings for the operator, which do not make the server unready.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.scrub.notes();
        let remote = self.open().and_then(|store| store.remote.as_ref());
        notes.extend(remote.and_then(RemoteStore::clock_note));
        let lag = self.wall_clock_lag();
        if !lag.is_zero() {
            let seconds = lag.as_secs();
            notes.push(format!(
                "the wall clock is {seconds}s behind the newest stored row: new Timestamps continue after that row; \
                 check the machine's clock"
            ));
        }
        notes
    }

    /// How far the wall clock is behind the newest stored row; zero below one second, and until the data is open.
    pub(crate) fn wall_clock_lag(&self) -> Duration {
        let cluster = self.cluster();
        cluster.map_or(Duration::ZERO, |cluster| cluster.engines().wall_clock_lag())
    }

    /// Whether clients should send requests: the server is ready or degraded.
    pub fn serves(&self) -> bool {
        matches!(self.state().0, ServerState::Ready | ServerState::Degraded)
    }

    /// Whether the store is closed, so that only a new process can serve again.
    pub fn is_dead(&self) -> bool {
        let is_final = matches!(self.engine_health(), Some(Health::Closed | Health::Fenced));
        is_final && !self.shutdown.is_requested()
    }

    /// Counters of the engine, once the data is open.
    pub(crate) fn engine_stats(&self) -> Option<Stats> {
        Some(self.cluster()?.engines().stats())
    }

    /// The entity cache, once the data is open.
    pub(crate) fn row_memory(&self) -> Option<&RowMemory> {
        Some(self.cluster()?.memory())
    }

    /// Files of the store that cannot be read; empty until the data is open.
    pub(crate) fn damaged_files(&self) -> Vec<DamagedFile> {
        let cluster = self.cluster();
        cluster.map_or_else(Vec::new, |cluster| cluster.engines().damaged_files())
    }

    /// The memory for bodies and answers: bytes in use, and the limit.
    pub(crate) fn memory_in_flight(&self) -> (u64, u64) {
        let memory = self.open().map(|store| &store.service.storage().memory);
        let bytes = memory.map_or(0, |memory| memory.bytes());
        (bytes, self.settings.limits.memory_in_flight)
    }

    fn engine_health(&self) -> Option<Health> {
        Some(self.cluster()?.engines().health())
    }
}

fn damage_reason(damaged: &DamagedFile) -> String {
    let DamagedFile {
        range,
        file,
        problem,
        blocks_writes,
        ..
    } = damaged;
    let outcome = if *blocks_writes {
        "its rows are answered with 500, and writes of the range with 503"
    } else {
        "its rows are answered with 500"
    };
    format!("range {range} cannot read {file} ({problem}): {outcome}; restore the file or a backup")
}
