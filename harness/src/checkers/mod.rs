//! Clients that load the server, keep a model of their rows, and compare it with the stored rows.
//!
//! Invariants, also after kills and changes of ranges:
//! - every acknowledged write is stored, with the answered ETag;
//! - a request under way at a kill happened wholly or not at all, also a batch;
//! - every stored value was written by a writer and is complete;
//! - the writes that caused a 409 or a 412, or that a reader has seen, are still stored;
//! - those of [`queue`].
//!
//! The seed determines the operations, but not their timing.

pub(crate) mod model;
pub(crate) mod queue;
mod race;
mod reader;
pub(crate) mod stored;
mod writer;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use anyhow::{Context, bail};
use partita_bench::client::Client;
use partita_bench::{Account, ServerProcess};
use partita_load::Random;

use self::model::Key;
use self::queue::QueueCheckers;
use self::race::Races;
use self::reader::Reader;
use self::writer::Writer;

/// The table of all tests with checkers.
pub(crate) const TABLE: &str = "crash";

/// Connections that write.
const WRITERS: u64 = 6;

/// Six writers and a reader, which outlive the server's processes.
#[derive(Debug)]
pub(crate) struct Checkers {
    account: Account,
    random: Random,
    writers: Vec<Writer>,
    races: Races,
    reader: Reader,
    /// Producers and consumers; absent in tests of the Table service alone.
    queue: Option<QueueCheckers>,
    /// Set to end the load of a server that is not killed.
    stop: AtomicBool,
}

impl Checkers {
    pub(crate) fn new(account: &Account, random: &mut Random) -> Self {
        let writers: Vec<Writer> = (0..WRITERS)
            .map(|index| Writer::new(index, random.next_u64()))
            .collect();
        let reader = Reader::new(
            writers.iter().map(|writer| &writer.ledger),
            random.next_u64(),
        );
        Self {
            account: account.clone(),
            random: Random::new(random.next_u64()),
            writers,
            races: Races::default(),
            reader,
            queue: None,
            stop: AtomicBool::new(false),
        }
    }

    /// Adds producers and consumers of a queue.
    pub(crate) fn add_queue(&mut self) {
        let mut random = Random::new(self.random.next_u64());
        self.queue = Some(QueueCheckers::new(&self.account, &mut random));
    }

    /// Compares the queue with the ledger of its workers.
    pub(crate) fn compare_queue(&mut self, server: &ServerProcess) -> anyhow::Result<()> {
        match &mut self.queue {
            Some(queue) => queue.compare(server.queue_addr()?),
            None => Ok(()),
        }
    }

    /// At the end of a test: receives all messages of the queue, and compares them with the ledger.
    pub(crate) fn drain_queue(&mut self, server: &ServerProcess) -> anyhow::Result<()> {
        match &mut self.queue {
            Some(queue) => queue.drain(server.queue_addr()?),
            None => Ok(()),
        }
    }

    /// From now on, accepts failed reads and writes with unknown outcomes if the answer has a documented reason.
    pub(crate) fn expect_a_failing_disk(&mut self) {
        self.reader.disk_fails = true;
        for writer in &mut self.writers {
            writer.disk_fails = true;
        }
    }

    /// Reads all rows of the table and compares them with the models.
    pub(crate) fn compare(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let stored = stored::scan(client)?;
        let mut faults = Vec::new();
        for writer in &mut self.writers {
            faults.extend(self.reader.compare(&writer.ledger, &stored));
            faults.extend(writer.ledger.compare(&stored));
            let keys = &writer.ledger.keys;
            let key = &keys[self.random.below(keys.len() as u64) as usize];
            let by_get = stored::get(client, key)?;
            if by_get.as_ref() != stored.get(key) {
                faults.push(format!("{key:?}: get and scan differ: {by_get:?}"));
            }
        }
        faults.extend(self.races.compare(&stored));
        fail_on(&faults)
    }

    /// Starts the load of all clients, each on its own thread. The load ends when the server ends or the returned flag
    /// is set. Without the address of the queues, their producers and consumers rest.
    pub(crate) fn load<'scope>(
        &'scope mut self,
        scope: &'scope Scope<'scope, '_>,
        addr: SocketAddr,
        queue_addr: Option<SocketAddr>,
    ) -> &'scope AtomicBool {
        let (account, races, reader) = (&self.account, &self.races, &mut self.reader);
        self.stop.store(false, Ordering::Relaxed);
        let stop = &self.stop;
        for writer in &mut self.writers {
            scope.spawn(move || writer.run(addr, account, races, stop));
        }
        scope.spawn(move || reader.run(addr, account, stop));
        if let (Some(queue), Some(addr)) = (&mut self.queue, queue_addr) {
            queue.load(scope, addr, stop);
        }
        stop
    }

    /// Takes the faults that the clients found under load.
    pub(crate) fn take_faults(&mut self) -> Vec<String> {
        let mut faults = std::mem::take(&mut self.reader.faults);
        for writer in &mut self.writers {
            faults.append(&mut writer.faults);
        }
        if let Some(queue) = &mut self.queue {
            faults.append(&mut queue.take_faults());
        }
        faults
    }

    /// Writes of entities acknowledged so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.writers.iter().map(|writer| writer.acknowledged).sum()
    }

    /// Puts and deletions of messages acknowledged so far.
    pub(crate) fn acknowledged_messages(&self) -> u64 {
        let queue = self.queue.as_ref();
        queue.map_or(0, QueueCheckers::acknowledged)
    }
}

/// Prints the faults, and fails if there are any.
pub(crate) fn fail_on(faults: &[String]) -> anyhow::Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    for fault in faults.iter().take(20) {
        eprintln!("fault: {fault}");
    }
    bail!("{} faults", faults.len());
}

/// Like [`fail_on`], for faults found while a server was running; the error includes the server's log.
pub(crate) fn fail_with_log(faults: &[String], server: &ServerProcess) -> anyhow::Result<()> {
    fail_on(faults).with_context(|| format!("the server's log:\n{}", server.log()))
}

/// The JSON of an entity with one property.
pub(crate) fn entity_json(key: &Key, property: &str, value: &str) -> String {
    format!(
        r#"{{"PartitionKey":"{}","RowKey":"{}","{property}":"{value}"}}"#,
        key.partition, key.row
    )
}
