//! The clients of a simulated cluster. They use any server, write the histories of entities and groups, and compare
//! messages with the models of their queues.

mod connection;
mod entity;
mod group;
mod queue;
mod scan;

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures::future::{LocalBoxFuture, try_join_all};
use partita_load::history::{Outcome, Register, Value, check, stable_partition};
use partita_wire::ServiceKind;

use self::connection::{Answered, Connection};
use super::scenario::{Scenario, up_to};
use crate::model::{Key, RowChange, Values, Write};
use crate::trace::Trace;
use crate::workload::connection::Call;
use crate::workload::protocol::TableRequest;
use crate::workload::queue::Queues;

/// The table.
const TABLE: &str = "chaos";

/// Rows that are written at the beginning, and never again.
const STABLE_ROWS: u64 = 100;

/// The entities and groups that are in use at the same time.
const ENTITIES: usize = 4;
const GROUPS: usize = 2;

/// How long the last reads may take.
const LAST_READS: Duration = Duration::from_secs(120);

/// What the clients share.
pub(super) struct Load {
    scenario: Scenario,
    trace: Trace,
    /// When the clients began.
    began: OnceCell<Instant>,
    entities: Slots,
    groups: Slots,
    queues: Queues,
    next_value: Cell<Value>,
    operations: Cell<u64>,
    is_over: Cell<bool>,
    acknowledged_at: Cell<Duration>,
    work: RefCell<Work>,
}

/// The registers in use, and all registers of a kind.
struct Slots {
    kind: char,
    current: RefCell<Vec<Arc<Register>>>,
    all: RefCell<Vec<Arc<Register>>>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    operations: usize,
    unknown: usize,
    scans: u64,
    messages: u64,
    refused: u64,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} operations in histories ({} unknown), {} scans, {} messages received, {} requests refused",
            self.operations, self.unknown, self.scans, self.messages, self.refused
        )
    }
}

impl Load {
    pub(super) fn new(scenario: &Scenario, trace: &Trace) -> Self {
        Self {
            scenario: scenario.clone(),
            trace: trace.clone(),
            began: OnceCell::new(),
            entities: Slots::new('e'),
            groups: Slots::new('g'),
            queues: queue::models(scenario.queues),
            next_value: Cell::new(STABLE_ROWS),
            operations: Cell::new(0),
            is_over: Cell::new(false),
            acknowledged_at: Cell::new(Duration::ZERO),
            work: RefCell::default(),
        }
    }

    /// What was done.
    pub(super) fn work(&self) -> Work {
        self.work.borrow().clone()
    }

    /// Whether the clients have made all operations, so that no further fault begins.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// When the last write was acknowledged.
    pub(super) fn acknowledged_at(&self) -> Duration {
        self.acknowledged_at.get()
    }

    /// Creates the table, runs all clients, and checks the histories.
    ///
    /// # Errors
    /// The first wrong answer.
    pub(super) async fn run(&self) -> anyhow::Result<()> {
        self.entities.begin(ENTITIES, self.began());
        self.groups.begin(GROUPS, self.began());
        self.fill().await?;
        queue::create(self).await?;
        let mut clients: Vec<LocalBoxFuture<'_, anyhow::Result<()>>> = Vec::new();
        for number in 0..self.scenario.entity_clients {
            let connection = self.connect(&format!("entities{number}"))?;
            clients.push(Box::pin(self.repeat(connection, |load, connection| {
                Box::pin(entity::step(load, connection))
            })));
        }
        for number in 0..self.scenario.group_clients {
            let connection = self.connect(&format!("groups{number}"))?;
            clients.push(Box::pin(self.repeat(connection, |load, connection| {
                Box::pin(group::step(load, connection))
            })));
        }
        for number in 0..self.scenario.scan_clients {
            let connection = self.connect(&format!("scans{number}"))?;
            clients.push(Box::pin(self.repeat(connection, |load, connection| {
                Box::pin(scan::step(load, connection))
            })));
        }
        for number in 0..self.scenario.queue_clients {
            clients.push(Box::pin(queue::repeat(self, number)));
        }
        try_join_all(clients).await?;
        self.check().await?;
        queue::drain(self).await
    }

    /// Creates the table and the rows that do not change.
    async fn fill(&self) -> anyhow::Result<()> {
        let mut connection = self.connect("owner")?;
        let deadline = Instant::now() + LAST_READS;
        let table = TableRequest::create_table(TABLE);
        let (_, created) = self
            .until_answered(&mut connection, &table, deadline)
            .await?;
        ensure!(
            matches!(created.status, 201 | 409),
            "creating the table: {}",
            created.text()
        );
        for number in 0..STABLE_ROWS {
            let write = write(
                &stable_partition(number),
                "r",
                RowChange::InsertOrReplace,
                number,
            );
            let request = TableRequest::write(&write);
            let (_, written) = self
                .until_answered(&mut connection, &request, deadline)
                .await?;
            written.expect(204).context("writing a row")?;
            self.acknowledged();
        }
        Ok(())
    }

    fn connect(&self, name: &str) -> anyhow::Result<Connection> {
        Connection::new(name, ServiceKind::Table, &self.scenario, &self.trace)
    }

    fn connect_to_queues(&self, name: &str) -> anyhow::Result<Connection> {
        Connection::new(name, ServiceKind::Queue, &self.scenario, &self.trace)
    }

    /// Takes steps until all operations are made.
    async fn repeat(
        &self,
        mut connection: Connection,
        step: impl for<'s> Fn(&'s Self, &'s mut Connection) -> LocalBoxFuture<'s, anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        while self.begins_operation() {
            step(self, &mut connection).await?;
            let pause = up_to(&mut connection.random, self.scenario.pause_max);
            tokio::time::sleep(pause).await;
        }
        self.ends(&connection);
        Ok(())
    }

    /// Whether there is another operation to make, which the caller makes.
    fn begins_operation(&self) -> bool {
        let made = self.operations.get();
        let begins = made < self.scenario.operations;
        self.operations.set(made + u64::from(begins));
        begins
    }

    /// All operations are made, and this client ends.
    fn ends(&self, connection: &Connection) {
        self.is_over.set(true);
        self.work.borrow_mut().refused += connection.refused;
    }

    /// Repeats a request until it is answered: one that changes nothing, or may be executed twice. Returns when it was
    /// sent last.
    async fn until_answered(
        &self,
        connection: &mut Connection,
        request: &impl Call,
        deadline: Instant,
    ) -> anyhow::Result<(Instant, crate::client::Answer)> {
        while Instant::now() < deadline {
            let start = Instant::now();
            if let Answered::Got(answer) = connection.send(request).await? {
                return Ok((start, answer));
            }
        }
        bail!("{request:?}: not answered in time")
    }

    /// When the clients began, by the clock of the world, which only its hosts have.
    fn began(&self) -> Instant {
        *self.began.get_or_init(Instant::now)
    }

    /// Notes that a write was acknowledged.
    fn acknowledged(&self) {
        self.acknowledged_at
            .set(turmoil::sim_elapsed().unwrap_or_default());
    }

    /// A value that no other write has.
    fn value(&self) -> Value {
        self.next_value.set(self.next_value.get() + 1);
        self.next_value.get()
    }

    /// A random register, which is replaced when it is full.
    fn register(&self, slots: &Slots, random: &mut fastrand::Rng) -> Arc<Register> {
        let mut current = slots.current.borrow_mut();
        let slot = random.usize(..current.len());
        if current[slot].is_full() {
            current[slot] = slots.add(self.began());
        }
        Arc::clone(&current[slot])
    }

    /// Reads each register once more, and checks all histories.
    async fn check(&self) -> anyhow::Result<()> {
        let mut connection = self.connect("auditor")?;
        let deadline = Instant::now() + LAST_READS;
        let entities = self.entities.all.borrow().clone();
        for register in &entities {
            let read = TableRequest::get(&key(&register.name, "r"));
            let (start, answer) = self
                .until_answered(&mut connection, &read, deadline)
                .await?;
            register.add_last_read(start, entity::read_outcome(&answer)?.0);
        }
        let groups = self.groups.all.borrow().clone();
        for register in &groups {
            let query = group::query(register);
            let (start, answer) = self
                .until_answered(&mut connection, &query, deadline)
                .await?;
            if let Some(outcome) = group::read_outcome(register, &answer)? {
                register.add_last_read(start, outcome);
            }
        }
        for register in entities.iter().chain(&groups) {
            self.check_register(register)?;
        }
        Ok(())
    }

    fn check_register(&self, register: &Register) -> anyhow::Result<()> {
        let history = register.history();
        let is_unknown = |outcome: Outcome| outcome == Outcome::Unknown;
        let unknown = history.iter().filter(|one| is_unknown(one.outcome));
        {
            let mut work = self.work.borrow_mut();
            work.unknown += unknown.count();
            work.operations += history.len();
        }
        check(&history).map_err(|fault| anyhow::anyhow!("{}: {fault}", register.name))
    }
}

impl Slots {
    fn new(kind: char) -> Self {
        Self {
            kind,
            current: RefCell::default(),
            all: RefCell::default(),
        }
    }

    /// Begins to use `count` registers.
    fn begin(&self, count: usize, began: Instant) {
        let first = (0..count).map(|_| self.add(began)).collect();
        self.current.replace(first);
    }

    /// A new register. Its rows lie between those that never change.
    fn add(&self, began: Instant) -> Arc<Register> {
        let mut all = self.all.borrow_mut();
        let number = all.len() as u64;
        let place = stable_partition(partita_load::mix(number) % STABLE_ROWS);
        let name = format!("{place}-{}{number}", self.kind);
        let register = Arc::new(Register::new(name, began));
        all.push(Arc::clone(&register));
        register
    }
}

fn key(partition: &str, row: &str) -> Key {
    Key {
        table: TABLE.to_owned(),
        partition: partition.to_owned(),
        row: row.to_owned(),
    }
}

/// A write of a value, without a condition.
fn write(partition: &str, row: &str, change: RowChange, value: Value) -> Write {
    Write {
        key: key(partition, row),
        change,
        values: Values {
            number: i64::try_from(value).ok(),
            text: None,
        },
        if_match: None,
    }
}
