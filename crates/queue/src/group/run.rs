//! Runs the groups of a queue.

use super::changes::Changes;
use super::execute::Execution;
use super::finish::{Done, Finish, unanswered};
use super::request::{Pending, Request, WriteSize};
use super::state::State;
use crate::Error;
use crate::clock::QueueClock;
use crate::rows::Header;
use parking_lot::Mutex;
use partita_model::QueueSpace;
use partita_range::{Locked, Range, RequestStats};
use partita_rt::Tasks;
use partita_service::{Storage, write_cost};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// The maximum number of requests in a group.
const REQUESTS_MAX: usize = 1024;
/// The size in bytes of written texts at which a group is full.
const BYTES_MAX: usize = 1 << 20;
/// Estimated bytes of a message's rows without its text.
const ROW_BYTES: usize = 160;

/// A queue with requests, or with its state in memory.
#[derive(Debug)]
pub(crate) struct OpenQueue {
    space: QueueSpace,
    pending: Mutex<PendingRequests>,
    /// Taken while a group is executed.
    state: Mutex<Option<State>>,
    /// Notified once for each message that became visible, for receives that wait.
    arrivals: Arc<Notify>,
    /// See [`Execution::asleep_until`]. Changed by groups only.
    asleep_until: AtomicU64,
    /// When it was last used, in the order of uses of all queues.
    pub(crate) last_use: AtomicU64,
}

#[derive(Debug, Default)]
struct PendingRequests {
    requests: VecDeque<Pending>,
    /// Whether a task executes groups.
    is_running: bool,
}

/// What executing groups needs.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<QueueClock>,
    pub(crate) tasks: Tasks,
}

impl OpenQueue {
    /// A queue whose state is loaded by its first group.
    pub(crate) fn new(space: QueueSpace) -> Self {
        Self {
            space,
            pending: Mutex::default(),
            state: Mutex::default(),
            arrivals: Arc::default(),
            asleep_until: AtomicU64::new(0),
            last_use: AtomicU64::new(0),
        }
    }

    /// Completes when a message arrives after it was enabled. Only one of several waiting requests is woken for a
    /// message; if that one is dropped, the next. All are woken when a message becomes visible earlier than they know.
    pub(crate) fn arrival(&self) -> OwnedNotified {
        Arc::clone(&self.arrivals).notified_owned()
    }

    /// Wakes all requests that wait for an arrival.
    pub(crate) fn wake_all(&self) {
        self.arrivals.notify_waiters();
    }

    /// Adds a request to the next group.
    pub(crate) fn push(self: &Arc<Self>, shared: &Shared, request: Request, size: WriteSize) {
        let mut pending = self.pending.lock();
        pending.requests.push_back(Pending {
            request,
            size,
            arrived: shared.storage.clock.monotonic(),
        });
        if pending.is_running {
            return;
        }
        pending.is_running = true;
        drop(pending);
        let running = Running {
            queue: Arc::clone(self),
            is_done: false,
        };
        let (tasks, shared) = (shared.tasks.clone(), shared.clone());
        tasks.spawn("queue requests", async move { running.run(&shared).await });
    }

    /// The requests of the next group; none if no request waits, and then no task is running any more.
    fn next_group(&self) -> Vec<Pending> {
        let mut pending = self.pending.lock();
        let (mut count, mut bytes) = (0, 0);
        for request in pending.requests.iter().take(REQUESTS_MAX) {
            if bytes >= BYTES_MAX {
                break;
            }
            count += 1;
            bytes += request.size.bytes;
        }
        pending.is_running = count > 0;
        pending.requests.drain(..count).collect()
    }

    async fn execute(&self, shared: &Shared, group: Vec<Pending>) {
        let mut finishes = Vec::with_capacity(group.len());
        let committed = self.try_execute(shared, group, &mut finishes).await;
        for finish in finishes {
            finish(committed.clone());
        }
    }

    /// Executes a group. Each request either has a function in `finishes`, or is sent the error in this function.
    async fn try_execute(
        &self,
        shared: &Shared,
        group: Vec<Pending>,
        finishes: &mut Vec<Finish>,
    ) -> Result<(), Error> {
        let began = self.prepare(shared, &group).await;
        let (mut admitted, locked, state) = match began {
            Ok(began) => began,
            Err(error) => {
                finishes.extend(group.into_iter().map(|pending| unanswered(pending.request)));
                return Err(error);
            }
        };
        let range = Arc::clone(locked.range());
        let mut execution = Execution {
            space: &self.space,
            range: &range,
            now: shared.clock.now(),
            state,
            changes: Changes::default(),
            is_header_changed: false,
            received_bytes: 0,
            arrivals: 0,
            asleep_until: self.asleep_until.load(Ordering::Relaxed),
        };
        let mut done = Vec::with_capacity(group.len());
        for pending in group {
            let (finish, what) = execution.execute(pending.request).await;
            finishes.push(finish);
            done.push((what, pending.arrived));
        }
        let wakes_all = execution.wakes_all();
        let Execution {
            mut state,
            changes,
            is_header_changed,
            arrivals,
            asleep_until,
            ..
        } = execution;
        if changes.is_empty() && !is_header_changed {
            drop(locked);
        } else {
            let row = state.next_header();
            let batch = changes.into_batch();
            #[cfg(feature = "planted-bugs")]
            let batch = crate::planted::batch(batch);
            let mut batch = batch;
            batch.put(self.space.header(), row);
            let started = shared.storage.clock.monotonic();
            // After an error the state is dropped: it contains changes that may not be stored.
            locked.commit_uncounted(batch).await?;
            let ended = shared.storage.clock.monotonic();
            admitted.record_work(ended - started, ended);
        }
        self.note(shared, &range, &done);
        *self.state.lock() = Some(state);
        self.asleep_until.store(asleep_until, Ordering::Relaxed);
        if wakes_all {
            self.arrivals.notify_waiters();
        }
        for _ in 0..arrivals {
            self.arrivals.notify_one();
        }
        Ok(())
    }

    /// Waits for admission, locks the queue, and loads its state unless the one in memory is current.
    async fn prepare<'s>(
        &self,
        shared: &'s Shared,
        group: &[Pending],
    ) -> Result<(partita_service::Admitted<'s>, Locked, State), Error> {
        let rows: usize = group.iter().map(|pending| pending.size.rows).sum();
        let bytes: usize = group.iter().map(|pending| pending.size.bytes).sum();
        let cost = write_cost(2 * rows, rows * ROW_BYTES + bytes);
        let writes = &shared.storage.admission.writes;
        let admitted = writes.enter(self.space.prefix(), cost).await?;
        let header_key = self.space.header();
        let locked = shared
            .storage
            .lock(std::slice::from_ref(&header_key))
            .await?;
        let row = locked.read(&header_key).await?;
        let kept = self.state.lock().take();
        let state = match kept.filter(|state| state.header_row == row) {
            Some(state) => state,
            None => State::new(Header::decode(row.as_deref())?, row),
        };
        Ok((admitted, locked, state))
    }

    /// Counts each request in the heat.
    fn note(&self, shared: &Shared, range: &Range, done: &[(Done, Instant)]) {
        let ended = shared.storage.clock.monotonic();
        for (what, arrived) in done {
            let stats = RequestStats {
                rows: what.rows,
                bytes_in: what.bytes_in,
                bytes_out: what.bytes_out,
                latency: ended.saturating_duration_since(*arrived),
            };
            range.note(self.space.prefix(), what.access, stats);
        }
    }

    /// Sets the order of uses.
    pub(crate) fn used(&self, use_number: u64) {
        self.last_use.store(use_number, Ordering::Relaxed);
    }
}

/// The task that executes the groups of a queue. If it panics, the next request starts another; the requests that wait
/// are dropped, and answered with an unknown outcome.
struct Running {
    queue: Arc<OpenQueue>,
    is_done: bool,
}

impl Running {
    async fn run(mut self, shared: &Shared) {
        loop {
            let group = self.queue.next_group();
            if group.is_empty() {
                // From here on another task may run.
                self.is_done = true;
                return;
            }
            self.queue.execute(shared, group).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_done {
            *self.queue.pending.lock() = PendingRequests::default();
        }
    }
}
