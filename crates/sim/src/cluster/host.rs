//! The machine of a server, which starts it again when it ends.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context as _;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use partita_coordinator::{MemoryRegistry, Registry};
use partita_rt::store_layer::Layered;
use partita_server::config::Settings;
use partita_server::{Environment, Server};
use tokio::sync::watch;

use super::operator;
use super::registry::{Link, LinkedRegistry};
use super::releases::Release;
use super::scenario::{PEER_PORT, SERVERS, Scenario};
use super::store::{FailingStore, Failures};
use crate::settings::{self, CacheBytes};
use crate::trace::Trace;
use crate::world::clock::SimulatedClock;
use crate::world::network::SimulatedNetwork;
use crate::world::store::SimulatedStore;

/// The file of a state directory.
const LAST_LIFE: &str = "life.json";

/// What the servers of a cluster share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) registry: MemoryRegistry,
    pub(super) objects: Arc<InMemory>,
}

/// A server, its links, and what is done to it from outside. It survives the process.
#[derive(Debug)]
pub(super) struct Machine {
    number: usize,
    pub(super) link: Arc<Link>,
    pub(super) failures: Arc<Failures>,
    settings: Settings,
    /// Of all servers.
    directory: PathBuf,
    /// Whether the process has ended by itself.
    pub(super) has_ended: Cell<bool>,
    /// How often the process was started.
    starts: Cell<u64>,
    /// The installed program, from the next start on.
    pub(super) release: Cell<Release>,
    /// Whether the process is asked to stop.
    pub(super) stops: watch::Sender<bool>,
    scenario: Scenario,
    trace: Trace,
    shared: Shared,
    /// What the operators of all servers did.
    changes: Rc<operator::Changes>,
}

impl Machine {
    /// The machine with this number, whose files are in `directory`.
    pub(super) fn new(
        number: usize,
        scenario: &Scenario,
        trace: &Trace,
        shared: &Shared,
        changes: &Rc<operator::Changes>,
        directory: &Path,
    ) -> anyhow::Result<Rc<Self>> {
        let name = SERVERS[number];
        let stream = |what: &str| scenario.seed.stream(&format!("{what} of {name}"));
        Ok(Rc::new(Self {
            number,
            link: Arc::new(Link::new(stream("registry"), scenario.registry_latency_max)),
            failures: Arc::new(Failures::new(stream("failures"))),
            settings: settings(scenario, name, directory)?,
            directory: directory.to_owned(),
            has_ended: Cell::new(false),
            starts: Cell::new(0),
            release: Cell::new(Release::Old),
            stops: watch::Sender::new(false),
            scenario: scenario.clone(),
            trace: trace.clone(),
            shared: shared.clone(),
            changes: Rc::clone(changes),
        }))
    }

    /// The name of the server.
    pub(super) fn name(&self) -> &'static str {
        SERVERS[self.number]
    }

    /// Runs the process until it ends by itself or is asked to stop.
    pub(super) async fn run(&self) {
        let start = self.starts.get();
        self.starts.set(start + 1);
        self.has_ended.set(false);
        self.stops.send_replace(false);
        let server = match self.start(start).await {
            Ok(server) => server,
            Err(error) => {
                let why = format!("{error:#}");
                self.note(&format!("does not start: {why}"));
                // The operator reads why, and installs the new program.
                if why.contains("supports cluster version") {
                    self.release.set(Release::New);
                }
                self.has_ended.set(true);
                return;
            }
        };
        self.note("serves");
        if start == 0 {
            // A rolling upgrade: whatever ends this process, the new program is started next.
            self.release.set(Release::New);
        }
        let mut stops = self.stops.subscribe();
        let random = self.stream("operator", start);
        let operating = operator::operate(
            &self.scenario,
            self.name(),
            &self.trace,
            random,
            &self.changes,
        );
        tokio::select! {
            why = server.fenced() => self.note(&format!("has ended: {why}")),
            // The sender lives as long as this machine.
            _ = stops.wait_for(|stops| *stops) => self.note("is asked to stop"),
            never = operating => match never {},
        }
        let late = server.stop().await;
        self.note(&format!("stopped, without waiting for {late:?}"));
        self.has_ended.set(true);
    }

    /// Starts the server. A process that is killed leaves its state directory unlocked; a host that is stopped may still
    /// have it locked, in memory that nothing frees. So each process has a directory of its own, with the file of the last
    /// one.
    async fn start(&self, start: u64) -> anyhow::Result<Server> {
        let directory = |start: u64| self.directory.join(format!("{}-{start}", self.name()));
        let own = directory(start);
        fs::create_dir_all(&own)?;
        let last = start.checked_sub(1).map(directory);
        if let Some(last) = last
            .map(|last| last.join(LAST_LIFE))
            .filter(|last| last.exists())
        {
            fs::copy(last, own.join(LAST_LIFE))?;
        }
        let mut settings = self.settings.clone();
        let cluster = settings.cluster.as_mut();
        cluster.context("the server is not in a cluster")?.state_dir = Some(own);
        Ok(Server::start_in(self.environment(start), settings).await?)
    }

    fn environment(&self, start: u64) -> Environment {
        let store = SimulatedStore::new(
            format!("store of {}", self.name()),
            Arc::clone(&self.shared.objects),
            self.trace.clone(),
            self.stream("store", start),
            self.scenario.store_latency_max,
        );
        let store: Arc<dyn ObjectStore> = Arc::new(Layered(FailingStore {
            store: Layered(store),
            failures: Arc::clone(&self.failures),
        }));
        let registry: Arc<dyn Registry> = Arc::new(LinkedRegistry {
            registry: self.shared.registry.clone(),
            link: Arc::clone(&self.link),
        });
        Environment {
            clock: Arc::new(SimulatedClock),
            network: Arc::new(SimulatedNetwork),
            objects: Some(store),
            registry: Some(registry),
            versions: self.release.get().versions(),
        }
    }

    fn stream(&self, what: &str, start: u64) -> fastrand::Rng {
        let name = format!("{what} of {} {start}", self.name());
        self.scenario.seed.stream(&name)
    }

    fn note(&self, event: &str) {
        self.trace.note(self.name(), event);
    }
}

/// The settings of a server, as flags.
fn settings(scenario: &Scenario, name: &str, directory: &Path) -> anyhow::Result<Settings> {
    let flags = [
        ("store", "file:///simulated".to_owned()),
        // The registry of the environment is used.
        ("coordinator", "etcd://simulated:2379".to_owned()),
        ("cluster-key", key_file(directory).display().to_string()),
        ("server-name", name.to_owned()),
        ("peer-host", "0.0.0.0".to_owned()),
        ("peer-port", PEER_PORT.to_string()),
        ("advertise", name.to_owned()),
        ("garbage-age", scenario.garbage_age.to_owned()),
        ("reader", "partita".to_owned()),
    ];
    let target = scenario.table_target.map(|target| target.to_string());
    let target = target.map(|target| ("target-table-entities", target));
    let caches = CacheBytes {
        entities: scenario.entity_cache_bytes,
        blocks: scenario.block_cache_bytes,
    };
    settings::with(flags.into_iter().chain(target), caches)
}

/// The file of the cluster key.
pub(super) fn key_file(directory: &Path) -> PathBuf {
    directory.join("cluster.key")
}
