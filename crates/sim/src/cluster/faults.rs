//! Faults of a simulated cluster: what the seed chooses, how long it lasts, and how it is healed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use partita_coordinator::MemoryRegistry;

use super::host::Machine;
use super::registry::Behaviour;
use super::scenario::{Scenario, one_of, up_to};
use super::store::Weather;
use crate::trace::Trace;

/// How long a supervisor waits before it starts a server again that has ended.
const RESTART_AFTER: Duration = Duration::from_millis(500);

/// No fault begins before the servers have begun.
const FIRST_AFTER: Duration = Duration::from_secs(4);

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A server is killed, and started again at once.
    Restart,
    /// A server is killed, and started again when another may have taken over.
    Kill,
    /// A server is asked to stop, and started again later.
    Stop,
    /// Another release is installed on all machines. A server is asked to stop, and started with it; the others get it
    /// when they start again.
    Replace,
    /// The link of a server to the coordinator.
    ToCoordinator(Behaviour),
    /// The link of all servers to the coordinator.
    Coordinator(Behaviour),
    /// All keys of the coordinator are deleted.
    Wipe,
    /// Two servers do not reach each other.
    Partition,
    /// What a server sends to another is lost.
    OneWay,
    /// Messages between two servers wait until the end of the fault.
    Hold,
    /// A server is cut off from all other servers and from the coordinator.
    Isolated,
    /// The link of a server to the object store.
    Store(Weather),
}

/// All kinds of faults; those that are listed twice are chosen more often.
const KINDS: [Kind; 23] = [
    Kind::Restart,
    Kind::Kill,
    Kind::Kill,
    Kind::Stop,
    Kind::Replace,
    Kind::Replace,
    Kind::Replace,
    Kind::ToCoordinator(Behaviour::Cut),
    Kind::ToCoordinator(Behaviour::NoRequests),
    Kind::ToCoordinator(Behaviour::NoRequests),
    Kind::ToCoordinator(Behaviour::NoAnswers),
    Kind::ToCoordinator(Behaviour::Late(Duration::from_millis(200))),
    Kind::Coordinator(Behaviour::Cut),
    Kind::Coordinator(Behaviour::NoAnswers),
    Kind::Wipe,
    Kind::Partition,
    Kind::OneWay,
    Kind::Hold,
    Kind::Isolated,
    Kind::Isolated,
    Kind::Store(weather(0, 2_000)),
    Kind::Store(weather(20, 0)),
    Kind::Store(weather(50, 500)),
];

const fn weather(failing: u32, slower_ms: u64) -> Weather {
    Weather {
        failing,
        slower: Duration::from_millis(slower_ms),
    }
}

/// A fault under way.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: Kind,
    victim: usize,
    other: usize,
    ends_at: Duration,
}

/// The faults of a simulation, between its steps.
pub(super) struct Faults {
    machines: Vec<Rc<Machine>>,
    registry: MemoryRegistry,
    trace: Trace,
    random: RefCell<fastrand::Rng>,
    calm_max: Duration,
    /// When the next fault begins.
    next_at: Cell<Duration>,
    under_way: RefCell<Vec<Fault>>,
    /// When a server that has ended is started again.
    starts_at: Vec<Cell<Option<Duration>>>,
    count: Cell<u64>,
}

impl Faults {
    pub(super) fn new(
        scenario: &Scenario,
        machines: &[Rc<Machine>],
        registry: &MemoryRegistry,
        trace: &Trace,
    ) -> Self {
        let never = || Cell::new(None);
        Self {
            machines: machines.to_vec(),
            registry: registry.clone(),
            trace: trace.clone(),
            random: RefCell::new(scenario.seed.stream("faults")),
            calm_max: scenario.calm_max,
            next_at: Cell::new(match scenario.has_faults {
                true => FIRST_AFTER,
                false => Duration::MAX,
            }),
            under_way: RefCell::default(),
            starts_at: machines.iter().map(|_| never()).collect(),
            count: Cell::new(0),
        }
    }

    /// How many faults there were.
    pub(super) fn count(&self) -> u64 {
        self.count.get()
    }

    /// Begins and ends the faults that are due. No fault begins when `is_over`, and those under way end.
    pub(super) fn step(&self, sim: &mut turmoil::Sim<'_>, is_over: bool) {
        let now = sim.elapsed();
        let is_due = |fault: &Fault| fault.ends_at <= now || is_over;
        let (due, left): (Vec<Fault>, Vec<Fault>) = {
            let all = self.under_way.take();
            all.into_iter().partition(is_due)
        };
        self.under_way.replace(left);
        for fault in due {
            self.trace
                .note_at(now, "fault", &format!("ends: {fault:?}"));
            self.end(sim, fault);
        }
        if !is_over && now >= self.next_at.get() {
            self.begin_random(sim, now);
        }
        self.restart(sim, now);
    }

    /// Starts servers that have ended by themselves.
    fn restart(&self, sim: &mut turmoil::Sim<'_>, now: Duration) {
        for (machine, starts_at) in self.machines.iter().zip(&self.starts_at) {
            if machine.has_ended.take() {
                // Ends the tasks that the server has left behind, as the end of a process does.
                sim.crash(machine.name());
                if starts_at.get().is_none() {
                    starts_at.set(Some(now + RESTART_AFTER));
                }
            }
            if starts_at.get().is_some_and(|at| at <= now) {
                starts_at.set(None);
                self.trace.note_at(now, machine.name(), "is started again");
                sim.bounce(machine.name());
            }
        }
    }

    fn begin_random(&self, sim: &mut turmoil::Sim<'_>, now: Duration) {
        let mut random = self.random.borrow_mut();
        let (servers, calm) = (self.machines.len(), up_to(&mut random, self.calm_max));
        let victim = random.usize(..servers);
        let fault = Fault {
            kind: one_of(&mut random, &KINDS),
            victim,
            other: (victim + 1 + random.usize(..servers - 1)) % servers,
            ends_at: now + Duration::from_millis(500) + up_to(&mut random, Duration::from_secs(7)),
        };
        // Sometimes the next fault begins before this one ends.
        let next_at = match random.u32(..4) {
            0 => now + (fault.ends_at - now) / 2,
            _ => fault.ends_at + Duration::from_millis(500) + calm,
        };
        self.next_at.set(next_at);
        // A server that is down, or about to be, cannot be killed or stopped again.
        let is_down = self.starts_at[victim].get().is_some();
        let is_process = matches!(
            fault.kind,
            Kind::Restart | Kind::Kill | Kind::Stop | Kind::Replace
        );
        if is_process && (is_down || !sim.is_host_running(self.machines[victim].name())) {
            return;
        }
        self.count.set(self.count.get() + 1);
        let (name, other) = (
            self.machines[victim].name(),
            self.machines[fault.other].name(),
        );
        self.trace
            .note_at(now, "fault", &format!("begins: {name} {other} {fault:?}"));
        drop(random);
        self.begin(sim, fault);
        self.under_way.borrow_mut().push(fault);
    }

    fn begin(&self, sim: &mut turmoil::Sim<'_>, fault: Fault) {
        let victim = &self.machines[fault.victim];
        let (name, other) = (victim.name(), self.machines[fault.other].name());
        match fault.kind {
            Kind::Restart => {
                sim.crash(name);
                sim.bounce(name);
            }
            Kind::Kill => {
                sim.crash(name);
                self.starts_at[fault.victim].set(Some(fault.ends_at));
            }
            Kind::Stop | Kind::Replace => {
                if fault.kind == Kind::Replace {
                    let release = victim.release.get().next(&mut self.random.borrow_mut());
                    for machine in &self.machines {
                        machine.release.set(release);
                    }
                }
                self.starts_at[fault.victim].set(Some(fault.ends_at + Duration::from_secs(30)));
                victim.stops.send_replace(true);
            }
            Kind::ToCoordinator(behaviour) => victim.link.set(behaviour),
            Kind::Coordinator(behaviour) => {
                for machine in &self.machines {
                    machine.link.set(behaviour);
                }
            }
            Kind::Wipe => self.registry.wipe(),
            Kind::Partition => sim.partition(name, other),
            Kind::OneWay => sim.partition_oneway(name, other),
            Kind::Hold => sim.hold(name, other),
            Kind::Isolated => {
                victim.link.set(Behaviour::NoRequests);
                for machine in self.others(fault.victim) {
                    sim.partition(name, machine.name());
                }
            }
            Kind::Store(weather) => victim.failures.set(weather),
        }
    }

    fn end(&self, sim: &mut turmoil::Sim<'_>, fault: Fault) {
        let victim = &self.machines[fault.victim];
        let (name, other) = (victim.name(), self.machines[fault.other].name());
        match fault.kind {
            Kind::Restart | Kind::Kill | Kind::Wipe => {}
            // If it did not stop in time, it is killed.
            Kind::Stop | Kind::Replace => {
                sim.crash(name);
                self.starts_at[fault.victim].set(Some(sim.elapsed()));
            }
            Kind::ToCoordinator(_) => victim.link.set(Behaviour::Open),
            Kind::Coordinator(_) => {
                for machine in &self.machines {
                    machine.link.set(Behaviour::Open);
                }
            }
            Kind::Partition => sim.repair(name, other),
            Kind::OneWay => sim.repair_oneway(name, other),
            Kind::Hold => sim.release(name, other),
            Kind::Isolated => {
                victim.link.set(Behaviour::Open);
                for machine in self.others(fault.victim) {
                    sim.repair(name, machine.name());
                }
            }
            Kind::Store(_) => victim.failures.set(Weather::default()),
        }
    }

    fn others(&self, victim: usize) -> impl Iterator<Item = &Rc<Machine>> {
        let all = self.machines.iter().enumerate();
        all.filter(move |(number, _)| *number != victim)
            .map(|(_, machine)| machine)
    }
}
