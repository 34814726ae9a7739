//! One producer or consumer: random requests over one connection, each answer checked against the ledger at once.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use partita_bench::{Account, park_for};
use partita_load::Random;

use super::HIDDEN_SECONDS_MAX;
use super::ledger::Ledger;
use super::protocol::{QueueConnection, Received, messages, new_receipt};

/// Length of the padding of most texts, and of some: these are longer than the texts in the rows of their messages.
const PADDING_MAX: u64 = 300;
const LONG_PADDING: usize = 6_000;

/// The maximum number of messages that a consumer receives at once: few enough to handle them in their timeout.
const RECEIVED_MAX: u64 = 6;

/// The pause before another connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Producer,
    Consumer,
}

/// A producer or consumer, which outlives the server's processes.
#[derive(Debug)]
pub(super) struct Worker {
    role: Role,
    index: usize,
    random: Random,
    /// Messages put, for unique texts.
    puts: u64,
    /// Faults of the server's answers.
    pub(super) faults: Vec<String>,
    /// Acknowledged puts and deletions.
    pub(super) acknowledged: u64,
}

impl Worker {
    pub(super) fn new(role: Role, index: usize, seed: u64) -> Self {
        Self {
            role,
            index,
            random: Random::new(seed),
            puts: 0,
            faults: Vec::new(),
            acknowledged: 0,
        }
    }

    /// Works until the connection breaks, a fault is found, or `stop` is set.
    pub(super) fn run(
        &mut self,
        addr: SocketAddr,
        account: &Account,
        ledger: &Mutex<Ledger>,
        stop: &AtomicBool,
    ) {
        if let Ok(connection) = QueueConnection::open(addr, account) {
            self.work(connection, ledger, stop);
        }
    }

    /// Like [`Self::run`], but goes on with another server of a cluster when a connection breaks.
    pub(super) fn run_in_outages(
        &mut self,
        fronts: &[SocketAddr],
        account: &Account,
        ledger: &Mutex<Ledger>,
        stop: &AtomicBool,
    ) {
        while self.faults.is_empty() && !stop.load(Ordering::Relaxed) {
            let front = self.random.below(fronts.len() as u64) as usize;
            if let Ok(connection) = QueueConnection::open_in_outages(fronts[front], account) {
                self.work(connection, ledger, stop);
            }
            park_for(RECONNECT_PAUSE);
        }
    }

    fn work(&mut self, mut connection: QueueConnection, ledger: &Mutex<Ledger>, stop: &AtomicBool) {
        while self.faults.is_empty() && !stop.load(Ordering::Relaxed) {
            let is_rising = lock(ledger).is_rising();
            let outcome = match self.role(is_rising) {
                Role::Producer => self.produce(&mut connection, ledger),
                Role::Consumer => self.consume(&mut connection, ledger),
            };
            match outcome {
                Ok(Some(fault)) => self.faults.push(fault),
                Ok(None) => {}
                // The server was killed; the request under way is in doubt.
                Err(_) => return,
            }
        }
    }

    /// What to do next: mostly its own role; while the queue rises a consumer puts too, while it falls a producer
    /// receives too.
    fn role(&mut self, is_rising: bool) -> Role {
        let (helps, other) = match self.role {
            Role::Producer => (!is_rising, Role::Consumer),
            Role::Consumer => (is_rising, Role::Producer),
        };
        if helps && self.random.chance(80) {
            other
        } else {
            self.role
        }
    }

    fn produce(
        &mut self,
        connection: &mut QueueConnection,
        ledger: &Mutex<Ledger>,
    ) -> anyhow::Result<Option<String>> {
        let text = self.text();
        lock(ledger).putting(&text);
        let answer = connection.put(&text)?;
        match answer.status {
            201 => {
                self.acknowledged += 1;
                lock(ledger).put(&text);
            }
            // 503 means "not executed".
            503 => lock(ledger).not_put(&text),
            status => return Ok(Some(format!("put: {status} {}", answer.text()))),
        }
        Ok(None)
    }

    /// A unique text whose length follows from its beginning.
    fn text(&mut self) -> String {
        self.puts += 1;
        let padding = match self.random.chance(3) {
            true => LONG_PADDING,
            false => self.random.below(PADDING_MAX) as usize,
        };
        format!(
            "{}-{}-{padding}-{}",
            self.index,
            self.puts,
            "x".repeat(padding)
        )
    }

    fn consume(
        &mut self,
        connection: &mut QueueConnection,
        ledger: &Mutex<Ledger>,
    ) -> anyhow::Result<Option<String>> {
        let count = 1 + self.random.below(RECEIVED_MAX);
        let hidden = 1 + self.random.below(HIDDEN_SECONDS_MAX);
        let sent = Instant::now();
        let answer = connection.try_receive(count, hidden)?;
        match answer.status {
            200 => {}
            503 => return Ok(None),
            status => return Ok(Some(format!("receive: {status} {}", answer.text()))),
        }
        for mut message in messages(&answer.text())? {
            let received = lock(ledger).received(&message, sent, Duration::from_secs(hidden));
            if let Err(fault) = received {
                return Ok(Some(fault));
            }
            let fault = self.handle(connection, ledger, &mut message)?;
            if fault.is_some() {
                return Ok(fault);
            }
        }
        Ok(None)
    }

    /// Deletes the message mostly, sometimes after an update, and leaves it sometimes.
    fn handle(
        &mut self,
        connection: &mut QueueConnection,
        ledger: &Mutex<Ledger>,
        message: &mut Received,
    ) -> anyhow::Result<Option<String>> {
        if self.random.chance(10) {
            return Ok(None);
        }
        if self.random.chance(15) {
            let before = message.clone();
            let mut fault = self.update(connection, ledger, message)?;
            if fault.is_none() && message.receipt != before.receipt && self.random.chance(50) {
                fault = delete_by_old_receipt(connection, &before)?;
            }
            if fault.is_some() {
                return Ok(fault);
            }
        }
        lock(ledger).deleting(message);
        let answer = connection.delete(message)?;
        let mut ledger = lock(ledger);
        match answer.status {
            204 => {
                self.acknowledged += 1;
                ledger.deleted(&message.text);
            }
            503 => ledger.not_deleted(message),
            404 if !ledger.must_be_valid(message, Instant::now()) => {
                ledger.not_deleted(message);
            }
            status => {
                return Ok(Some(format!(
                    "delete: {status} {} of {message:?}",
                    answer.text()
                )));
            }
        }
        Ok(None)
    }

    fn update(
        &mut self,
        connection: &mut QueueConnection,
        ledger: &Mutex<Ledger>,
        message: &mut Received,
    ) -> anyhow::Result<Option<String>> {
        let hidden = self.random.below(HIDDEN_SECONDS_MAX + 1);
        lock(ledger).updating(message);
        let sent = Instant::now();
        let answer = connection.update(message, hidden)?;
        match answer.status {
            204 => {
                message.receipt = new_receipt(&answer)?;
                lock(ledger).updated(message, sent, Duration::from_secs(hidden));
                Ok(None)
            }
            // After 404, another consumer has received it, because its timeout was over.
            503 | 404 => Ok(None),
            status => Ok(Some(format!(
                "update: {status} {} of {message:?}",
                answer.text()
            ))),
        }
    }
}

/// Sends a deletion with the receipt that a message had before an update. The server must refuse it.
fn delete_by_old_receipt(
    connection: &mut QueueConnection,
    before: &Received,
) -> anyhow::Result<Option<String>> {
    let answer = connection.delete(before)?;
    Ok(match answer.status {
        404 | 503 => None,
        status => Some(format!(
            "delete with an old receipt: {status} {} of {before:?}",
            answer.text()
        )),
    })
}

/// The ledger, also after a worker panicked.
fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
