//! Producers and consumers of one queue, with a ledger of what they know about each message.
//!
//! Invariants, also after kills and changes of ranges:
//! - every message whose put was acknowledged is there until it is deleted, with its text;
//! - a message whose deletion was acknowledged never comes back;
//! - while a message is hidden, no other consumer receives it, and its receipt is valid;
//! - the number of received times of a message only increases;
//! - the queue's count is never below the number of messages that must be there.

mod ledger;
mod protocol;
mod worker;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread::Scope;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use partita_bench::{Account, park_for};
use partita_load::Random;

use self::ledger::Ledger;
use self::protocol::QueueConnection;
use self::worker::{Role, Worker};

/// Connections that put messages, and connections that receive them.
const WORKERS: [Role; 5] = [
    Role::Producer,
    Role::Producer,
    Role::Consumer,
    Role::Consumer,
    Role::Consumer,
];

/// Longest visibility timeout of the workers, in seconds: after this time without a worker, all messages are visible.
const HIDDEN_SECONDS_MAX: u64 = 2;

/// Time for the last messages to become visible.
const DRAIN_DEADLINE: Duration = Duration::from_secs(60);

/// The workers of a queue, which outlive the server's processes.
#[derive(Debug)]
pub(crate) struct QueueCheckers {
    account: Account,
    workers: Vec<Worker>,
    ledger: Mutex<Ledger>,
}

impl QueueCheckers {
    pub(crate) fn new(account: &Account, random: &mut Random) -> Self {
        let workers = WORKERS.iter().enumerate();
        Self {
            account: account.clone(),
            workers: workers
                .map(|(index, role)| Worker::new(*role, index, random.next_u64()))
                .collect(),
            ledger: Mutex::default(),
        }
    }

    /// Starts the workers, each on its own thread. They end when the server ends or `stop` is set.
    pub(crate) fn load<'scope>(
        &'scope mut self,
        scope: &'scope Scope<'scope, '_>,
        addr: SocketAddr,
        stop: &'scope AtomicBool,
    ) {
        let (account, ledger) = (&self.account, &self.ledger);
        for worker in &mut self.workers {
            scope.spawn(move || worker.run(addr, account, ledger, stop));
        }
    }

    /// Starts the workers on the servers of a cluster. They end when `stop` is set, and survive outages.
    pub(crate) fn load_in_outages<'scope>(
        &'scope mut self,
        scope: &'scope Scope<'scope, '_>,
        fronts: &'scope [SocketAddr],
        stop: &'scope AtomicBool,
    ) {
        let (account, ledger) = (&self.account, &self.ledger);
        for worker in &mut self.workers {
            scope.spawn(move || worker.run_in_outages(fronts, account, ledger, stop));
        }
    }

    /// Takes the faults that the workers found.
    pub(crate) fn take_faults(&mut self) -> Vec<String> {
        let workers = self.workers.iter_mut();
        workers
            .flat_map(|worker| std::mem::take(&mut worker.faults))
            .collect()
    }

    /// Acknowledged puts and deletions so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.workers.iter().map(|worker| worker.acknowledged).sum()
    }

    /// Creates the queue if it is missing, and compares its count with the ledger. No worker may run.
    pub(crate) fn compare(&mut self, addr: SocketAddr) -> anyhow::Result<()> {
        let mut connection = self.connect(addr)?;
        connection.create()?;
        let ledger = self
            .ledger
            .get_mut()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let (count, least) = (connection.count()?, ledger.least_count());
        ensure!(
            count >= least,
            "the queue counts {count} messages, at least {least} exist"
        );
        Ok(())
    }

    /// Receives all messages, and compares them with the ledger. No worker may run.
    pub(crate) fn drain(&mut self, addr: SocketAddr) -> anyhow::Result<()> {
        let mut connection = self.connect(addr)?;
        let ledger = self
            .ledger
            .get_mut()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let deadline = Instant::now() + DRAIN_DEADLINE;
        loop {
            let sent = Instant::now();
            let messages = connection.receive(32, 3600)?;
            if messages.is_empty() {
                if connection.count()? == 0 {
                    break;
                }
                if Instant::now() >= deadline {
                    bail!("missing messages: {:?}", ledger.missing());
                }
                park_for(Duration::from_millis(50));
            }
            for message in messages {
                ledger
                    .received(&message, sent, Duration::from_secs(3600))
                    .map_err(anyhow::Error::msg)?;
                let deleted = connection.delete(&message)?;
                ensure!(deleted.status == 204, "{deleted:?} of {message:?}");
                ledger.deleted(&message.text);
            }
        }
        let missing = ledger.missing();
        ensure!(missing.is_empty(), "lost messages: {missing:?}");
        Ok(())
    }

    fn connect(&self, addr: SocketAddr) -> anyhow::Result<QueueConnection> {
        QueueConnection::open(addr, &self.account).context("connecting to the queues")
    }
}
