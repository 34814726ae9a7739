//! How the server stands: what the admin port reports, gathered from the parts as they come up.
//!
//! A server is *starting* until its data is open, then *ready*; *degraded* when reads are served and writes are not;
//! *unavailable* when neither is; *stopping* from the wish to stop on. All of it is derived on request, nothing is kept
//! in step by hand.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use partita_cluster::Cluster;
use partita_engine::{Health, Stats};
use partita_range::RowMemory;
use partita_rt::{Clock, Shutdown};
use partita_snapshot::Snapshots;
use partita_table::Service;

use crate::config::Settings;
use crate::jobs::Jobs;
use crate::metrics::Metrics;

/// What the server is able to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The data is not open yet.
    Starting,
    /// Reads and writes are served.
    Ready,
    /// Reads are served, writes are refused.
    Degraded,
    /// Neither is served; the server is mending itself.
    Unavailable,
    /// The server is asked to stop.
    Stopping,
}

impl State {
    /// The word for it in the admin API.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Ready => "ready",
            State::Degraded => "degraded",
            State::Unavailable => "unavailable",
            State::Stopping => "stopping",
        }
    }

    /// True if requests are worth sending.
    pub fn serves(self) -> bool {
        matches!(self, State::Ready | State::Degraded)
    }
}

/// Where the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// The table service.
    pub table: SocketAddr,
    /// The admin port, unless switched off.
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
}

/// The parts of the server, for those who report on them. Shared by `Arc`.
#[derive(Debug)]
pub struct Standing {
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) listening: Listening,
    pub(crate) started_at: SystemTime,
    clock: Arc<dyn Clock>,
    started: Instant,
    pub(crate) jobs: Jobs,
    open: OnceLock<OpenStore>,
    shutdown: Shutdown,
}

impl Standing {
    /// A server that has begun to start.
    pub fn new(
        settings: Arc<Settings>,
        metrics: Arc<Metrics>,
        listening: Listening,
        clock: Arc<dyn Clock>,
        shutdown: Shutdown,
    ) -> Standing {
        Standing {
            settings,
            metrics,
            listening,
            started_at: clock.now(),
            started: clock.monotonic(),
            clock,
            jobs: Jobs::default(),
            open: OnceLock::new(),
            shutdown,
        }
    }

    /// The data is open. A second call changes nothing.
    pub fn opened(&self, store: OpenStore) {
        self.open.get_or_init(|| store);
    }

    /// The ranges, once the data is open.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.open.get().map(|store| &store.cluster)
    }

    /// The table service, once the data is open.
    pub(crate) fn service(&self) -> Option<&Arc<Service>> {
        self.open.get().map(|store| &store.service)
    }

    /// The store, once its data is open.
    pub(crate) fn open(&self) -> Option<&OpenStore> {
        self.open.get()
    }

    /// The wall time.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    /// Whether only this machine reaches the admin port.
    pub(crate) fn admin_is_local(&self) -> bool {
        self.listening
            .admin
            .is_some_and(|address| address.ip().is_loopback())
    }

    /// Time since the process began to start.
    pub fn uptime(&self) -> Duration {
        self.clock.monotonic().duration_since(self.started)
    }

    /// What the server is able to do now, and why it is not more.
    pub fn state(&self) -> (State, Option<&'static str>) {
        if self.shutdown.is_requested() {
            return (State::Stopping, Some("the server is stopping"));
        }
        match self.engine_health() {
            None => (State::Starting, Some("the data is being opened")),
            Some(Health::Healthy) => (State::Ready, None),
            Some(Health::DiskFull) => (
                State::Degraded,
                Some("the disk is full: writes are refused until there is room"),
            ),
            Some(Health::Backlogged) => (
                State::Degraded,
                Some("the disk is too slow for what is written: writes are refused for now"),
            ),
            Some(Health::Recovering) => (
                State::Unavailable,
                Some("a write or sync failed: the data is being opened anew"),
            ),
            Some(Health::Closed) => (State::Unavailable, Some("the store is closed")),
        }
    }

    /// True if only a new process can help.
    pub fn is_dead(&self) -> bool {
        self.engine_health() == Some(Health::Closed) && !self.shutdown.is_requested()
    }

    /// Figures of the engine, once the data is open.
    pub(crate) fn engine_stats(&self) -> Option<Stats> {
        Some(self.cluster()?.engines().stats())
    }

    /// What is kept in memory of rows, once the data is open.
    pub(crate) fn row_memory(&self) -> Option<&RowMemory> {
        Some(self.cluster()?.memory())
    }

    fn engine_health(&self) -> Option<Health> {
        Some(self.cluster()?.engines().health())
    }
}
