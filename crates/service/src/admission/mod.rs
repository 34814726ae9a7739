//! Fair admission: which requests proceed when there is more work than room.
//!
//! Admission queues stand before what serves in order of arrival, so that no account can fill it:
//!
//! | queue | before | counted in | capacity |
//! | --- | --- | --- | --- |
//! | writes | the commit pipeline | bytes of rows, and 128 for each row | what is durable within about 40 ms, 512 KiB to 8 MiB |
//! | scans | the processors | pieces of pages (1,024 rows) | what keeps all cores busy |
//!
//! A service may have queues of its own before these, such as that of the Table service for transactions.
//!
//! Where there is room and no request waits, admission costs two short locks. Otherwise the request waits: accounts, and
//! within an account partitions, get equal shares of the capacity, whatever they ask for (`virtual_time`). After
//! [`WAIT_MAX`] it is refused with 503, not executed.
//!
//! A write holds its share until it is durable, a scan until a piece is read: a page of a long scan is admitted again for
//! each piece. A client that disconnects leaves the queue.
//!
//! Invariants:
//! - admitted cost is released exactly once, also when a request is dropped while it waits or while it is admitted;
//! - a request never overtakes an earlier one of its flow.

mod adaptive_limit;
mod fair_queue;
mod virtual_time;

#[cfg(test)]
mod tests;

use crate::Busy;
use adaptive_limit::{AdaptiveLimit, WorkSample};
use fair_queue::{FairQueue, Flow, Ticket};
use parking_lot::Mutex;
use partita_model::{account_of, indivisible_prefix};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a request waits for admission: as long as the commit pipeline lets a write wait for room, and less than clients
/// wait for an answer.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// What a row costs besides its bytes: small rows are work too.
const ROW_COST: usize = 128;

/// Bytes of writes in the pipeline. One group of the commit loop takes up to 4 MiB while the next one gathers; more would
/// only wait there, in order of arrival. Where durability takes long, it is less (`adaptive_limit`).
const WRITE_COST_MAX: u64 = 8 << 20;

/// The admission queues that all services share.
#[derive(Debug)]
pub struct Admission {
    /// Before the commit pipeline, in [`write_cost`].
    pub writes: AdmissionQueue,
    /// Before the processors, in pieces of scans.
    pub scans: AdmissionQueue,
}

impl Default for Admission {
    fn default() -> Self {
        // Two pieces a core: one waits for the disk or hands on its rows while the other reads.
        let cores = partita_rt::threads::cores();
        Self {
            writes: AdmissionQueue::new(WRITE_COST_MAX),
            scans: AdmissionQueue::new(2 * cores as u64),
        }
    }
}

/// The cost of a write of so many rows and bytes.
#[must_use]
pub const fn write_cost(rows: usize, bytes: usize) -> u64 {
    (bytes + rows * ROW_COST) as u64
}

/// Admits requests while there is room, and then in fair order.
#[derive(Debug)]
pub struct AdmissionQueue {
    capacity_max: u64,
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    capacity: u64,
    limit: AdaptiveLimit,
    admitted: u64,
    queue: FairQueue,
    waiters: HashMap<Ticket, oneshot::Sender<()>>,
}

impl AdmissionQueue {
    /// A queue that admits requests of this cost at a time.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            capacity_max: capacity,
            hasher: RandomState::new(),
            state: Mutex::new(State {
                capacity,
                limit: AdaptiveLimit::default(),
                admitted: 0,
                queue: FairQueue::default(),
                waiters: HashMap::new(),
            }),
        }
    }

    /// Admits a request of `cost` on the rows at `key`, after a wait if need be. A request of more than the capacity is
    /// admitted alone. Cancel safe.
    ///
    /// # Errors
    /// [`Busy`] when it was not admitted within [`WAIT_MAX`].
    pub async fn enter(&self, key: &[u8], cost: u64) -> Result<Admitted<'_>, Busy> {
        let cost = cost.min(self.capacity_max);
        let Some(mut waiting) = self.try_enter(key, cost) else {
            return Ok(Admitted::new(self, cost));
        };
        match tokio::time::timeout(WAIT_MAX, waiting.admission()).await {
            Ok(()) => Ok(waiting.into_admitted()),
            Err(_elapsed) => Err(Busy::overloaded("not admitted in time")),
        }
    }

    /// Admits the request, or lets it wait.
    fn try_enter(&self, key: &[u8], cost: u64) -> Option<Waiting<'_>> {
        let mut state = self.state.lock();
        if state.queue.is_empty() && state.has_room(cost) {
            state.admitted += cost;
            return None;
        }
        let flow = self.flow(key);
        let ticket = state.queue.push(flow, cost);
        let (sender, receiver) = oneshot::channel();
        state.waiters.insert(ticket, sender);
        Some(Waiting {
            queue: self,
            flow,
            cost,
            ticket: Some(ticket),
            receiver,
        })
    }

    fn flow(&self, key: &[u8]) -> Flow {
        Flow {
            account: self.hasher.hash_one(account_of(key).unwrap_or(key)),
            partition: self.hasher.hash_one(indivisible_prefix(key).unwrap_or(key)),
        }
    }

    /// Releases admitted cost and admits what fits then; whether a request was admitted.
    fn release(&self, cost: u64, sample: Option<WorkSample>) -> bool {
        let mut state = self.state.lock();
        state.admitted -= cost;
        if let Some(sample) = sample.filter(|_| !state.queue.is_empty()) {
            let (capacity, max) = (state.capacity, self.capacity_max);
            state.capacity = state.limit.capacity(capacity, max, sample);
        }
        state.admit_waiting()
    }
}

impl State {
    /// Whether a request of this cost fits. One that is larger than the current capacity is admitted alone.
    const fn has_room(&self, cost: u64) -> bool {
        self.admitted == 0 || self.admitted + cost <= self.capacity
    }

    /// Admits the waiting requests for which there is room, in order: small ones do not overtake a large one for ever.
    /// Whether there were any.
    fn admit_waiting(&mut self) -> bool {
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
            self.admitted += cost;
            any = true;
            // A request that was dropped meanwhile finds its ticket gone, and releases the cost.
            let _ = waiter.send(());
        }
        any
    }
}

/// An admitted request. Dropping it releases its cost.
#[derive(Debug)]
pub struct Admitted<'a> {
    /// `None` once the cost is released.
    queue: Option<&'a AdmissionQueue>,
    cost: u64,
    sample: Option<WorkSample>,
}

impl<'a> Admitted<'a> {
    const fn new(queue: &'a AdmissionQueue, cost: u64) -> Self {
        Self {
            queue: Some(queue),
            cost,
            sample: None,
        }
    }

    /// Records how long the admitted work took, until `ended`: the capacity adapts to it.
    pub const fn record_work(&mut self, took: Duration, ended: Instant) {
        self.sample = Some(WorkSample { took, ended });
    }

    /// Releases the cost, and yields to a request that is admitted by it. For tasks with long work ahead and no await in
    /// it: the woken task is in the slot of this thread, from which idle threads do not take it. Cancel safe.
    pub async fn hand_over(mut self) {
        if self.release() {
            tokio::task::yield_now().await;
        }
    }

    /// Releases the cost now; whether a waiting request was admitted by it.
    pub fn release(&mut self) -> bool {
        let (cost, sample) = (self.cost, self.sample.take());
        self.queue
            .take()
            .is_some_and(|queue| queue.release(cost, sample))
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

/// A waiting request. Dropping it removes it from the queue.
struct Waiting<'a> {
    queue: &'a AdmissionQueue,
    flow: Flow,
    cost: u64,
    /// `None` once it is admitted and its cost belongs to an [`Admitted`].
    ticket: Option<Ticket>,
    receiver: oneshot::Receiver<()>,
}

impl<'a> Waiting<'a> {
    async fn admission(&mut self) {
        // The sender is dropped only after it was used: the queue outlives its waiters.
        let _ = (&mut self.receiver).await;
    }

    fn into_admitted(mut self) -> Admitted<'a> {
        self.ticket = None;
        Admitted::new(self.queue, self.cost)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else {
            return;
        };
        let mut state = self.queue.state.lock();
        if state.waiters.remove(&ticket).is_some() {
            state.queue.remove(self.flow, ticket);
        } else {
            // It was admitted, but will not run.
            state.admitted -= self.cost;
        }
        // A request after a large one that left may fit now.
        state.admit_waiting();
    }
}
