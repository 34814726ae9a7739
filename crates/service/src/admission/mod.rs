//! Fair admission: which requests proceed when the server is overloaded.
//!
//! The commit pipeline and the processors serve in order of arrival. An admission queue in front of each prevents one
//! account from filling it:
//!
//! | queue | in front of | unit of cost | capacity |
//! | --- | --- | --- | --- |
//! | writes | the commit pipeline | bytes of rows, plus 128 per row | the bytes that become durable in about 40 ms: 512 KiB to 8 MiB |
//! | scans | the processors | pieces of pages (1,024 rows) | two pieces per core |
//!
//! A service may add its own queues, such as the Table service for transactions.
//!
//! If there is room and the queue is empty, admission costs two short locks. Otherwise the request waits. Accounts, and
//! within an account partitions, get equal shares of the capacity, independent of their demand (`virtual_time`). After
//! [`WAIT_MAX`] the request is refused with 503 and not executed.
//!
//! A write holds its share until it is durable, a scan until a piece is read: a long scan is admitted again for each
//! piece. A client that disconnects leaves the queue.
//!
//! Invariants:
//! - admitted cost is released exactly once, also when a request is dropped while it waits or while it is admitted;
//! - a request never overtakes an earlier request of the same flow.

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

/// How long a request waits for admission: as long as a write waits for room in the commit pipeline, and less than
/// clients wait for an answer.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Cost per row in addition to its bytes.
const ROW_COST: usize = 128;

/// Bytes of writes in the pipeline: one group of the commit loop of up to 4 MiB, and the next group, which collects at
/// the same time. Further writes would wait in the pipeline in order of arrival, which is not fair. On slow disks the
/// limit is lower (`adaptive_limit`).
const WRITE_COST_MAX: u64 = 8 << 20;

/// The admission queues that all services share.
#[derive(Debug)]
pub struct Admission {
    /// The queue before the commit pipeline; costs are in [`write_cost`].
    pub writes: AdmissionQueue,
    /// The queue before the processors; costs are in pieces of scans.
    pub scans: AdmissionQueue,
}

impl Default for Admission {
    fn default() -> Self {
        // Two pieces per core: while one waits for the disk or passes its rows on, the other reads.
        let cores = partita_rt::threads::cores();
        Self {
            writes: AdmissionQueue::new(WRITE_COST_MAX),
            scans: AdmissionQueue::new(2 * cores as u64),
        }
    }
}

/// The cost of a write with this number of rows and bytes.
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
    /// A queue that admits requests with a total cost of at most `capacity` at a time.
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

    /// Admits a request of `cost` on the rows at `key`, at once or after a wait. A request above the capacity is
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
            Err(_elapsed) => Err(Busy::overloaded("not admitted within 5s")),
        }
    }

    /// Admits the request (`None`), or adds it to the queue.
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

    /// Releases admitted cost and admits waiting requests; returns whether any was admitted.
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
    /// Whether a request of this cost fits. A request above the current capacity is admitted alone.
    const fn has_room(&self, cost: u64) -> bool {
        self.admitted == 0 || self.admitted + cost <= self.capacity
    }

    /// Admits waiting requests in order while there is room, so that small ones do not starve a large one. Returns
    /// whether any was admitted.
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
            // If the request has been dropped, its `Drop` finds no waiter and releases the cost.
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

    /// Releases the cost, and yields if that admits a waiting request. For tasks that continue with long work without
    /// an await: tokio puts the woken task into a slot of this thread, from which other threads cannot take it. Cancel
    /// safe.
    pub async fn hand_over(mut self) {
        if self.release() {
            tokio::task::yield_now().await;
        }
    }

    /// Releases the cost now; returns whether that admitted a waiting request.
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
    /// The ticket in the queue; `None` once the request is admitted and its cost belongs to an [`Admitted`].
    ticket: Option<Ticket>,
    receiver: oneshot::Receiver<()>,
}

impl<'a> Waiting<'a> {
    async fn admission(&mut self) {
        // This cannot fail: the queue outlives its waiters, and drops a sender only after using it.
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
            // The request was admitted, but dropped before it was polled.
            state.admitted -= self.cost;
        }
        // A request that waited behind the removed one may fit now.
        state.admit_waiting();
    }
}
