//! The clients of a round, which write their histories.

mod chain;
mod entity;
mod group;
mod scan;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use anyhow::{Error, ensure};
use partita_bench::client::Request;
use partita_bench::cluster::Connection;
use partita_bench::{Account, park_for};
use partita_load::{Random, mix};

use partita_load::history::{Keys, Outcome, Register, ScanCheck, Value, check, stable_partition};

pub(super) use self::scan::rows;

/// The table of the test.
pub(super) const TABLE: &str = "/chaos";

/// The path of queries.
pub(super) const QUERY: &str = "/chaos()";

/// Rows that are written before the first fault, and never again.
pub(super) const STABLE_ROWS: u64 = 200;

/// Clients of single entities, and of groups of entities that batches change.
const ENTITY_CLIENTS: usize = 5;
const GROUP_CLIENTS: usize = 2;

/// The entities and groups that are in use at the same time.
const ENTITIES: usize = 4;
const GROUPS: usize = 2;

/// The pause of a client between two requests, so that the servers and the checkers of a small machine keep up.
const PAUSE: Duration = Duration::from_millis(4);

/// How long the last reads of a round may take.
const LAST_READS: Duration = Duration::from_secs(60);

/// What the clients of a round share.
#[derive(Debug)]
pub(super) struct Load {
    account: Account,
    fronts: Vec<SocketAddr>,
    entities: Slots,
    groups: Slots,
    next_value: AtomicU64,
    round: u64,
    /// When each row of the chain was in all its places.
    chain: Mutex<Vec<Instant>>,
    pub(super) stop: AtomicBool,
    faults: Mutex<Vec<String>>,
}

/// The registers in use, and all registers of a kind.
#[derive(Debug)]
struct Slots {
    kind: char,
    round: u64,
    began: Instant,
    current: Vec<Mutex<Arc<Register>>>,
    all: Mutex<Vec<Arc<Register>>>,
}

/// What a round found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) operations: usize,
    pub(super) unknown: usize,
}

impl Load {
    pub(super) fn new(account: &Account, fronts: &[SocketAddr], round: u64) -> Self {
        Self {
            account: account.clone(),
            fronts: fronts.to_vec(),
            entities: Slots::new('e', round, ENTITIES),
            groups: Slots::new('g', round, GROUPS),
            next_value: AtomicU64::new(1),
            round,
            chain: Mutex::default(),
            stop: AtomicBool::new(false),
            faults: Mutex::default(),
        }
    }

    /// Starts the clients. They end when `stop` is set.
    pub(super) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        random: &mut Random,
    ) {
        for _ in 0..ENTITY_CLIENTS {
            let connection = self.connect(random);
            scope.spawn(move || self.repeat(connection, entity::step));
        }
        for _ in 0..GROUP_CLIENTS {
            let connection = self.connect(random);
            scope.spawn(move || self.repeat(connection, group::step));
        }
        let connection = self.connect(random);
        scope.spawn(move || self.repeat(connection, scan::step));
        let connection = self.connect(random);
        scope.spawn(move || self.repeat(connection, chain::step));
    }

    /// How the names of things of this round begin.
    pub(super) fn prefix(&self) -> String {
        format!("r{}-", self.round)
    }

    pub(super) fn connect(&self, random: &mut Random) -> Connection {
        let random = Random::new(random.next_u64());
        Connection::new(&self.fronts, &self.account, random)
    }

    /// Takes steps until the end of the round, or until one finds a fault.
    fn repeat(
        &self,
        mut connection: Connection,
        step: impl Fn(&Self, &mut Connection) -> anyhow::Result<()>,
    ) {
        while !self.is_over() {
            if let Err(fault) = step(self, &mut connection) {
                lock(&self.faults).push(format!("{fault:#}"));
                return;
            }
            park_for(PAUSE);
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A value that no other write has.
    fn value(&self) -> Value {
        self.next_value.fetch_add(1, Ordering::Relaxed)
    }

    /// A random register, which is replaced when it is full.
    fn register(&self, slots: &Slots, random: &mut Random) -> Arc<Register> {
        let slot = &slots.current[random.below(slots.current.len() as u64) as usize];
        let mut register = lock(slot);
        if register.is_full() {
            *register = slots.add();
        }
        Arc::clone(&register)
    }

    /// Checks the rows of a snapshot that was taken between two moments, and adds them to the histories.
    pub(super) fn check_snapshot(
        &self,
        rows: Vec<(Keys, Value)>,
        taken: [Instant; 2],
    ) -> anyhow::Result<()> {
        let keys: HashSet<&Keys> = rows.iter().map(|(keys, _)| keys).collect();
        chain::check(self, &keys, taken[0])?;
        for register in lock(&self.entities.all).iter() {
            entity::add_snapshot(register, &rows, taken);
        }
        for register in lock(&self.groups.all).iter() {
            group::add_snapshot(register, &rows, taken)?;
        }
        let mut scan = ScanCheck::default();
        scan.page(&[], rows, true, taken[0]).map_err(Error::msg)?;
        scan.end(STABLE_ROWS).map_err(Error::msg)
    }

    /// Reads each register once more, and checks all histories. No client may run.
    pub(super) fn check(&self, random: &mut Random) -> anyhow::Result<(Checked, Vec<String>)> {
        let mut faults = std::mem::take(&mut *lock(&self.faults));
        let mut checked = Checked::default();
        let mut connection = self.connect(random);
        let deadline = Instant::now() + LAST_READS;
        let gives_up = || Instant::now() > deadline;
        for register in lock(&self.entities.all).iter() {
            let path = entity::path(register);
            let answer = connection.send_until_answered(&Request::new("GET", &path), gives_up);
            if let Some((start, answer)) = answer {
                register.add_last_read(start, entity::read_outcome(&answer)?.0);
            }
            checked.add(register, &mut faults);
        }
        for register in lock(&self.groups.all).iter() {
            match group::read(&mut connection, register, gives_up) {
                Ok(Some((start, outcome))) => register.add_last_read(start, outcome),
                Ok(None) => {}
                Err(fault) => faults.push(format!("{fault:#}")),
            }
            checked.add(register, &mut faults);
        }
        ensure!(!gives_up(), "the last reads took too long");
        Ok((checked, faults))
    }
}

impl Checked {
    fn add(&mut self, register: &Register, faults: &mut Vec<String>) {
        let history = register.history();
        let unknown = history
            .iter()
            .filter(|operation| operation.outcome == Outcome::Unknown);
        self.unknown += unknown.count();
        self.operations += history.len();
        if let Err(fault) = check(&history) {
            faults.push(format!("{}: {fault}", register.name));
        }
    }
}

impl Slots {
    fn new(kind: char, round: u64, count: usize) -> Self {
        let mut slots = Self {
            kind,
            round,
            began: Instant::now(),
            current: Vec::new(),
            all: Mutex::default(),
        };
        slots.current = (0..count).map(|_| Mutex::new(slots.add())).collect();
        slots
    }

    /// A new register. Its rows lie between those that never change.
    fn add(&self) -> Arc<Register> {
        let mut all = lock(&self.all);
        let (round, number) = (self.round, all.len() as u64);
        let place = stable_partition(mix(number ^ (round << 32)) % STABLE_ROWS);
        let name = format!("{place}-{}{round}-{number}", self.kind);
        let register = Arc::new(Register::new(name, self.began));
        all.push(Arc::clone(&register));
        register
    }
}

/// The JSON of an entity.
pub(super) fn json(partition: &str, row: &str, value: Value) -> String {
    format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}","V":"{value}"}}"#)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
