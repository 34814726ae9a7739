//! The world: one thread, virtual time, one server and its clients on a simulated network.
//!
//! turmoil gives each host a runtime with paused time and steps them in turn; mad-turmoil answers the C library's
//! `clock_gettime` and `getrandom` in this program, so that the clocks, the hash seeds and the ids of the server and of
//! all its libraries follow the virtual time and the seed. `docs/design/0003-simulation.md` has the reasons and limits.

pub(crate) mod clock;
pub(crate) mod network;
pub(crate) mod store;

use std::cell::RefCell;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use object_store::ObjectStore;
use partita_coordinator::Versions;
use partita_rt::store_layer::Layered;
use partita_server::config::Settings;
use partita_server::{Environment, Server};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tempfile::TempDir;
use tokio::sync::watch;

use self::clock::SimulatedClock;
use self::network::SimulatedNetwork;
use self::store::SimulatedStore;
use crate::operator::{self, Changes};
use crate::scenario::{SERVER, Scenario};
use crate::seed::Seed;
use crate::settings::{self, CacheBytes};
use crate::trace::Trace;
use crate::watchers;
use crate::workload::{self, Plant, Progress, Work};

/// The virtual time of one step, which is the precision of messages and timers.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// The virtual time after which a simulation fails, because it seems to hang.
const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The stack size of the world's thread in bytes: large, because the futures of a debug build are large.
const STACK_BYTES: usize = 32 << 20;

/// The outcome of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    work: Work,
    changes: Changes,
    /// The virtual time that has passed.
    elapsed: Duration,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; {}; {:.1} s of virtual time",
            self.work,
            self.changes,
            self.elapsed.as_secs_f64()
        )
    }
}

/// Runs the world of a scenario until its clients have finished, the server has stopped, and all checks are done.
///
/// A process can run one world only.
///
/// # Errors
/// The first fault.
pub(crate) fn run(
    scenario: &Scenario,
    trace: &Trace,
    plant: Option<Plant>,
) -> anyhow::Result<Outcome> {
    let (scenario, trace) = (scenario.clone(), trace.clone());
    on_a_thread(scenario.seed, move || live(scenario, trace, plant))
}

/// Runs a world on a new thread, so that the standard library's thread-local state follows from the seed.
///
/// # Errors
/// Those of the world.
#[allow(clippy::disallowed_methods, reason = "the one thread of the world")]
pub(crate) fn on_a_thread<T: Send + 'static>(
    seed: Seed,
    live: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let seed = seed.number("operating system");
    mad_turmoil::rand::set_rng(StdRng::seed_from_u64(seed));
    let world = thread::Builder::new()
        .name("world".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(live)?;
    world
        .join()
        .map_err(|_panic| anyhow!("the simulation itself panicked"))?
}

/// The hosts of a world and their network. The simulation fails after `duration_max` of virtual time, because it seems
/// to hang.
pub(crate) fn hosts(
    seed: Seed,
    message_latency_max: Duration,
    duration_max: Duration,
) -> turmoil::Builder {
    let mut builder = turmoil::Builder::new();
    builder
        .rng_seed(seed.number("network"))
        .epoch(SystemTime::UNIX_EPOCH)
        .tick_duration(TICK)
        .simulation_duration(duration_max)
        .min_message_latency(Duration::from_micros(100))
        .max_message_latency(message_latency_max);
    builder
}

/// The settings of the server.
fn settings(scenario: &Scenario, directory: &Path) -> anyhow::Result<Settings> {
    let flags = [
        ("location", directory.join("data").display().to_string()),
        // Low, so that a simulation of a few minutes includes garbage collections.
        ("garbage-age", "10s".to_owned()),
        ("reader", scenario.reader.to_owned()),
    ];
    let caches = CacheBytes {
        entities: scenario.entity_cache_bytes,
        blocks: scenario.block_cache_bytes,
    };
    settings::with(flags, caches)
}

fn live(scenario: Scenario, trace: Trace, plant: Option<Plant>) -> anyhow::Result<Outcome> {
    let _simulated = partita_rt::world::simulate();
    let _clocks = mad_turmoil::time::SimClocksGuard::init();
    watchers::watch(&trace, true);
    let directory = scratch()?;
    let latency_max = scenario.message_latency_max;
    let mut sim = hosts(scenario.seed, latency_max, DURATION_MAX).build();
    let store: Arc<dyn ObjectStore> = Arc::new(Layered(SimulatedStore::new(
        "store".to_owned(),
        Arc::default(),
        trace.clone(),
        scenario.seed.stream("store"),
        scenario.store_latency_max,
    )));
    let work = Rc::new(RefCell::new(Work::default()));
    let changes = Rc::new(RefCell::new(Changes::default()));
    let (progress, observed) = watch::channel(Progress::default());
    let progress = Rc::new(progress);
    let (stopped, mut is_stopped) = watch::channel(false);
    let host = Host {
        scenario: scenario.clone(),
        trace: trace.clone(),
        environment: Environment {
            clock: Arc::new(SimulatedClock),
            network: Arc::new(SimulatedNetwork),
            objects: Some(store),
            registry: None,
            versions: Versions::OWN,
        },
        settings: settings(&scenario, directory.path())?,
    };
    let counted = Rc::clone(&changes);
    sim.host(SERVER, move || {
        let (host, observed, stopped) = (host.clone(), observed.clone(), stopped.clone());
        let counted = Rc::clone(&counted);
        async move {
            host.serve(observed, &counted).await.map_err(in_full)?;
            stopped.send_replace(true);
            Ok(())
        }
    });
    let killer = Killer {
        sessions: scenario.sessions,
        progress: Rc::clone(&progress),
        trace: trace.clone(),
    };
    let done = Rc::clone(&work);
    sim.client("clients", async move {
        let worked = workload::run(scenario, trace, &progress, plant).await;
        *done.borrow_mut() = worked.map_err(in_full)?;
        // This cannot fail, because the sender outlives this task.
        let _ = is_stopped.wait_for(|stopped| *stopped).await;
        Ok(())
    });
    let ran = killer.run(&mut sim);
    let elapsed = sim.elapsed();
    ran.map_err(|error| anyhow!("{error}"))?;
    watchers::check()?;
    Ok(Outcome {
        work: work.take(),
        changes: changes.take(),
        elapsed,
    })
}

/// Kills the server once.
struct Killer {
    /// The number of sessions on tables.
    sessions: u64,
    progress: Rc<watch::Sender<Progress>>,
    trace: Trace,
}

impl Killer {
    /// Runs the simulation. When all sessions on tables rest, kills the server and starts it again. The sessions on
    /// queues go on; the outcome of their requests is not known to them.
    fn run(&self, sim: &mut turmoil::Sim<'_>) -> turmoil::Result {
        while !sim.step()? {
            let Progress {
                resting, kills: 0, ..
            } = *self.progress.borrow()
            else {
                continue;
            };
            if resting == self.sessions {
                self.trace.note_at(sim.elapsed(), SERVER, "is killed");
                sim.crash(SERVER);
                sim.bounce(SERVER);
                self.progress.send_modify(|progress| progress.kills += 1);
            }
        }
        Ok(())
    }
}

/// The text of an error with its causes, because turmoil keeps only a text.
pub(crate) fn in_full(error: anyhow::Error) -> String {
    format!("{error:#}")
}

/// The server's machine.
#[derive(Clone)]
struct Host {
    scenario: Scenario,
    trace: Trace,
    environment: Environment,
    settings: partita_server::config::Settings,
}

impl Host {
    /// Runs the server and the operator until the clients have finished, then stops the server.
    async fn serve(
        self,
        progress: watch::Receiver<Progress>,
        changes: &RefCell<Changes>,
    ) -> anyhow::Result<()> {
        let server = Server::start_in(self.environment, self.settings).await?;
        self.trace.note(SERVER, "serves");
        operator::operate(&self.scenario, &self.trace, progress, changes).await?;
        let late = server.stop().await;
        anyhow::ensure!(late.is_empty(), "tasks of the server did not end: {late:?}");
        self.trace.note(SERVER, "stopped");
        Ok(())
    }
}

/// A folder for the WAL: in memory if the system has such a folder, because syncs to a disk take real time without
/// virtual time.
pub(crate) fn scratch() -> anyhow::Result<TempDir> {
    let memory = std::path::Path::new("/dev/shm");
    let parent = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let prefix = format!("partita-sim-{}-", std::process::id());
    let created = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
    created.context("creating a directory for the WAL")
}
