//! Fair admission: who may go on when there is more to do than room.
//!
//! Turnstiles stand before the queues that serve in order of arrival, so that nobody can fill those:
//!
//! | turnstile | before | counted in | as much at a time as |
//! | --- | --- | --- | --- |
//! | writes | the commit pipeline | bytes of rows, and 128 for each row | is durable within some 40 ms, 512 KiB to 8 MiB |
//! | transactions | the writes | transactions | `--batches-max` |
//! | long transactions | the commit pipeline | those that write more than it lets through at a time | one |
//! | scans | the processors | pieces of pages (1,024 rows) | keeps all cores busy |
//!
//! Where there is room and nobody waits, a request goes through at the price of two short locks. Else it waits its turn:
//! between accounts, and within an account between partitions, each gets the same share of what is let through, whatever it
//! asks for (`turns`). Waiting ends after [`PATIENCE`] with 503, and nothing was done.
//!
//! A write holds its place until it is durable, a scan until a piece is read: a page of a long scan asks for a place again for
//! each piece. A client that goes away leaves the queue.
//!
//! Invariants:
//! - a place is given back exactly once, also when a request is dropped while it waits or while it is given one;
//! - whoever comes while others wait, waits behind its own flow's: nobody overtakes.

mod fair_queue;
mod pace;
mod turns;

#[cfg(test)]
mod tests;

use crate::Error;
use fair_queue::{FairQueue, Ticket};
use pace::{Pace, Work};
use parking_lot::Mutex;
use partita_model::{container_prefix, indivisible_prefix};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

pub(crate) use fair_queue::Flow;

/// How long a request waits for its turn: as long as the commit pipeline lets one wait for room, and less than any client does.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What a write takes: its bytes, and this for each row, which also costs when it is small.
const ROW_COST: usize = 128;

/// Bytes of writes in the pipeline. One group of the commit loop takes up to 4 MiB, and the next one gathers meanwhile; more
/// would only wait there, in order of arrival. Where that takes long it is less (`pace`).
const WRITE_COST_MAX: u64 = 8 << 20;

/// The turnstiles of a service.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) writes: Turnstile,
    pub(crate) transactions: Turnstile,
    pub(crate) long_transactions: Turnstile,
    pub(crate) scans: Turnstile,
}

impl Admission {
    pub(crate) fn new(transactions_max: usize) -> Self {
        // Two pieces for each core: one waits for the disk, or hands its rows on, while the other reads.
        let cores = partita_rt::threads::cores();
        Self {
            writes: Turnstile::new(WRITE_COST_MAX),
            transactions: Turnstile::new(transactions_max as u64),
            long_transactions: Turnstile::new(1),
            scans: Turnstile::new(2 * cores as u64),
        }
    }
}

/// What a write of so many rows and bytes takes of the pipeline.
pub(crate) fn write_cost(rows: usize, bytes: usize) -> u64 {
    (bytes + rows * ROW_COST) as u64
}

/// Lets requests through as long as there is room, and then in fair order.
#[derive(Debug)]
pub(crate) struct Turnstile {
    capacity_max: u64,
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    capacity: u64,
    pace: Pace,
    in_use: u64,
    queue: FairQueue,
    waiters: HashMap<Ticket, oneshot::Sender<()>>,
}

impl Turnstile {
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            capacity_max: capacity,
            hasher: RandomState::new(),
            state: Mutex::new(State {
                capacity,
                pace: Pace::default(),
                in_use: 0,
                queue: FairQueue::default(),
                waiters: HashMap::new(),
            }),
        }
    }

    /// A place for a request of `cost` on the rows at `key`, waiting for its turn if need be. Larger ones than
    /// the turnstile take all of it. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Busy`] when its turn did not come within [`PATIENCE`].
    pub(crate) async fn enter(&self, key: &[u8], cost: u64) -> Result<Admitted<'_>, Error> {
        let cost = cost.min(self.capacity_max);
        let Some(mut waiting) = self.try_enter(key, cost) else {
            return Ok(Admitted::new(self, cost));
        };
        match tokio::time::timeout(PATIENCE, waiting.turn()).await {
            Ok(()) => Ok(waiting.into_admitted()),
            Err(_elapsed) => Err(Error::out_of_patience()),
        }
    }

    /// Takes a place, or one in the queue.
    fn try_enter(&self, key: &[u8], cost: u64) -> Option<Waiting<'_>> {
        let mut state = self.state.lock();
        if state.queue.is_empty() && state.has_room(cost) {
            state.in_use += cost;
            return None;
        }
        let flow = self.flow(key);
        let ticket = state.queue.push(flow, cost);
        let (sender, receiver) = oneshot::channel();
        state.waiters.insert(ticket, sender);
        Some(Waiting {
            turnstile: self,
            flow,
            cost,
            ticket: Some(ticket),
            receiver,
        })
    }

    fn flow(&self, key: &[u8]) -> Flow {
        let table = container_prefix(key).unwrap_or(key);
        let account = table.get(..table.len().saturating_sub(8));
        Flow {
            account: self.hasher.hash_one(account),
            partition: self.hasher.hash_one(indivisible_prefix(key).unwrap_or(key)),
        }
    }

    /// Gives back a place, and hands on what is free; whether somebody waited for it.
    fn leave(&self, cost: u64, worked: Option<Work>) -> bool {
        let mut state = self.state.lock();
        state.in_use -= cost;
        if let Some(work) = worked.filter(|_| !state.queue.is_empty()) {
            let (capacity, max) = (state.capacity, self.capacity_max);
            state.capacity = state.pace.capacity(capacity, max, work);
        }
        state.hand_on()
    }
}

impl State {
    /// Whether a request of this cost fits; one that is larger than the turnstile just now goes alone.
    const fn has_room(&self, cost: u64) -> bool {
        self.in_use == 0 || self.in_use + cost <= self.capacity
    }

    /// Lets in whom there is room for, in order: a large one is not overtaken for ever by small ones. Whether there was any.
    fn hand_on(&mut self) -> bool {
        let mut any = false;
        while let Some((_, cost)) = self.queue.first() {
            if !self.has_room(cost) {
                break;
            }
            let Some(waiter) = self
                .queue
                .pop()
                .and_then(|ticket| self.waiters.remove(&ticket))
            else {
                break;
            };
            self.in_use += cost;
            any = true;
            // One that has gone finds its ticket taken, and gives the place back.
            let _ = waiter.send(());
        }
        any
    }
}

/// A place; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Admitted<'a> {
    /// Gone once the place is given back.
    turnstile: Option<&'a Turnstile>,
    cost: u64,
    worked: Option<Work>,
}

impl<'a> Admitted<'a> {
    const fn new(turnstile: &'a Turnstile, cost: u64) -> Self {
        Self {
            turnstile: Some(turnstile),
            cost,
            worked: None,
        }
    }

    /// Tells how long what stands behind the turnstile took, until `ended`: from that the turnstile learns how much to let in.
    pub(crate) const fn worked(&mut self, took: Duration, ended: Instant) {
        self.worked = Some(Work { took, ended });
    }

    /// Gives the place back, and lets whoever gets it go on first. For those with long work before them, and no waiting in
    /// it: whom a task wakes stands in its thread's slot, from which no idle thread takes it. Cancel safe.
    pub(crate) async fn hand_over(mut self) {
        if self.give_back() {
            tokio::task::yield_now().await;
        }
    }

    /// Gives the place back now; whether somebody waited for it.
    pub(crate) fn give_back(&mut self) -> bool {
        let (cost, worked) = (self.cost, self.worked.take());
        self.turnstile
            .take()
            .is_some_and(|turnstile| turnstile.leave(cost, worked))
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// A request in the queue; dropping it takes it out.
struct Waiting<'a> {
    turnstile: &'a Turnstile,
    flow: Flow,
    cost: u64,
    /// Gone once the place is handed on.
    ticket: Option<Ticket>,
    receiver: oneshot::Receiver<()>,
}

impl<'a> Waiting<'a> {
    async fn turn(&mut self) {
        // The sender is dropped only after it was used: the turnstile outlives its waiters.
        let _ = (&mut self.receiver).await;
    }

    fn into_admitted(mut self) -> Admitted<'a> {
        self.ticket = None;
        Admitted::new(self.turnstile, self.cost)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else {
            return;
        };
        let mut state = self.turnstile.state.lock();
        if state.waiters.remove(&ticket).is_some() {
            state.queue.remove(self.flow, ticket);
        } else {
            // It was given a place that it will not use.
            state.in_use -= self.cost;
        }
        // Whoever stands behind a large one that left may fit now.
        state.hand_on();
    }
}
