//! The world of several servers: a shared object store and a coordinator in memory, clients that use any server, and
//! faults.
//!
//! ```text
//!  clients ──▶ s1 ⇄ s2 ⇄ s3      turmoil's network; TLS between servers
//!               ├── link ──▶ MemoryRegistry    latency, silence, cuts
//!               └── failures ──▶ InMemory      latency, errors, lost answers
//!  faults: between two steps of the world
//! ```
//!
//! The answers of an entity, and those of a group of entities that batches change, are histories that must be
//! linearizable. Scans must return every row that nothing changes. Messages are compared with the models of their queues.
//! Servers run one of two releases, and no member may be a release that does not support the version of the cluster.

mod clients;
mod faults;
mod host;
mod operator;
mod registry;
mod releases;
mod scenario;
mod store;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use partita_coordinator::MemoryRegistry;
use partita_peer::ClusterKey;

use self::clients::{Load, Work};
use self::faults::Faults;
use self::host::{Machine, Shared, key_file};
use self::operator::Changes;
use self::scenario::{SERVERS, Scenario};
use crate::seed::Seed;
use crate::trace::Trace;
use crate::watchers;
use crate::world::clock::SimulatedClock;
use crate::world::{hosts, in_full, on_a_thread, scratch};

/// The virtual time after which a simulation fails, because the clients do not get on.
const DURATION_MAX: Duration = Duration::from_secs(2 * 3_600);

/// No client may wait longer for an acknowledged write. Faults overlap, so this is longer than any of them.
const STUCK_AFTER: Duration = Duration::from_secs(90);

/// What is simulated.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// From 2 to 5.
    pub(crate) servers: usize,
    /// The number of operations of all clients together.
    pub(crate) operations: u64,
    /// Whether anything fails.
    pub(crate) has_faults: bool,
}

/// The outcome of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    work: Work,
    changes: String,
    faults: u64,
    /// The virtual time that has passed.
    elapsed: Duration,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; {}; {} faults; {:.1} s of virtual time",
            self.work,
            self.changes,
            self.faults,
            self.elapsed.as_secs_f64()
        )
    }
}

/// Runs the world of a plan until its clients have finished and all histories are checked, on a thread of its own. A
/// process can run one world only.
///
/// # Errors
/// The first fault that was found.
pub(crate) fn run(plan: &Plan, trace: &Trace) -> anyhow::Result<Outcome> {
    ensure!(
        (2..=SERVERS.len()).contains(&plan.servers),
        "a cluster has from 2 to {} servers",
        SERVERS.len()
    );
    let seed = Seed(plan.seed);
    let scenario = Scenario::of(seed, plan.servers, plan.operations, plan.has_faults);
    let trace = trace.clone();
    on_a_thread(seed, move || live(&scenario, &trace))
}

fn live(scenario: &Scenario, trace: &Trace) -> anyhow::Result<Outcome> {
    let _simulated = partita_rt::world::simulate();
    let _clocks = mad_turmoil::time::SimClocksGuard::init();
    watchers::watch(trace, false);
    let directory = scratch()?;
    trace.hide(directory.path().display().to_string());
    trace.hide(format!("process id {}", std::process::id()));
    let key = ClusterKey::create().context("creating a cluster key")?;
    key.write(&key_file(directory.path()))?;
    let mut sim = hosts(scenario.seed, scenario.message_latency_max, DURATION_MAX)
        .tcp_capacity(4_096)
        .build();
    let shared = Shared {
        registry: MemoryRegistry::new(Arc::new(SimulatedClock)),
        objects: Arc::default(),
    };
    let changes = Rc::new(Changes::default());
    let mut machines = Vec::new();
    for number in 0..scenario.servers {
        let machine = Machine::new(number, scenario, trace, &shared, &changes, directory.path())?;
        let running = Rc::clone(&machine);
        sim.host(machine.name(), move || {
            let machine = Rc::clone(&running);
            async move {
                machine.run().await;
                Ok(())
            }
        });
        machines.push(machine);
    }
    let load = Rc::new(Load::new(scenario, trace));
    let clients = Rc::clone(&load);
    let registry = shared.registry.clone();
    sim.client("clients", async move {
        let ran = tokio::select! {
            ran = clients.run() => ran,
            mixed = releases::watch(registry) => mixed,
        };
        ran.map_err(in_full)?;
        Ok(())
    });
    let faults = Faults::new(scenario, &machines, &shared.registry, trace);
    let ran = steps(&mut sim, &load, &faults);
    let elapsed = sim.elapsed();
    let outcome = Outcome {
        work: load.work(),
        changes: changes.to_string(),
        faults: faults.count(),
        elapsed,
    };
    trace.note_at(elapsed, "outcome", &outcome.to_string());
    ran.map_err(|error| anyhow!("{error}; {outcome}"))?;
    watchers::check()?;
    Ok(outcome)
}

/// Runs the simulation to the end of its clients, with faults between the steps.
fn steps(sim: &mut turmoil::Sim<'_>, load: &Load, faults: &Faults) -> turmoil::Result {
    while !sim.step()? {
        faults.step(sim, load.is_over());
        let waiting = sim.elapsed().saturating_sub(load.acknowledged_at());
        if waiting > STUCK_AFTER && !load.is_over() {
            return Err(format!("no write was acknowledged for {STUCK_AFTER:?}").into());
        }
    }
    Ok(())
}
