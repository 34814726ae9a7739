//! Closes connections that take too long, and makes room for new ones.
//!
//! Once a second one task checks all connections: overdue connections get the order to break off, and at shutdown all
//! get the order to end. So limits hold to within a second, and a request needs no timer. Connections that have been
//! idle for [`IDLE_SECONDS_MIN`] give back their buffers.
//!
//! Bodies and answers are bounded by their rate: a transfer may lag behind [`Patience::rate_min`] by what that rate
//! moves in [`Patience::stall`]. So a client that moves nothing is closed after the stall time, and a client that moves
//! single bytes a little later. Small transfers are never affected. A rate over the whole transfer would not do: the
//! system's buffers take the first megabytes of an answer at once, and a client could live on those for an hour.

use super::progress::{Order, Phase, Progress, State};
use parking_lot::Mutex;
use partita_rt::Shutdown;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;

/// Time limits of a connection, by phase, and which connections are closed for a new one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Time from the first byte of a request until its head is complete. For the first request it begins with the
    /// connection.
    pub(crate) head: Duration,
    /// Time until the first byte of a further request.
    pub(crate) idle: Duration,
    /// The time for which a body or an answer may move nothing: its allowance below [`Self::rate_min`].
    pub(crate) stall: Duration,
    /// The minimum bytes per second of a body or an answer, on average.
    pub(crate) rate_min: u64,
    /// Time for discarding a body that was refused unread.
    pub(crate) linger: Duration,
    /// Which connections are closed when a new one needs the place.
    pub(crate) evicts: Evicts,
}

/// Which connections are closed when a new one needs the place: those that have waited longest for their client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evicts {
    /// Connections without a request: no complete head yet, idle for at least [`IDLE_SECONDS_MIN`], or discarding a
    /// body that was refused.
    Waiting,
    /// All connections except those with a request that is being executed.
    AllButWorking,
}

/// [`Evicts::Waiting`] keeps connections that are idle for less than this many seconds of the watch, and all
/// connections keep their buffers for so long. A client that sends one request after the other is idle only for
/// milliseconds.
const IDLE_SECONDS_MIN: u32 = 2;

impl Evicts {
    /// Whether a connection in this phase may be closed for another.
    fn covers(self, phase: Phase) -> bool {
        match phase {
            Phase::New | Phase::Head | Phase::Idle | Phase::Linger => true,
            Phase::Body | Phase::Answer => self == Self::AllButWorking,
            Phase::Working => false,
        }
    }

    fn covers_now(self, state: State, second: u32) -> bool {
        let is_recent = second.saturating_sub(state.began()) < IDLE_SECONDS_MIN;
        let is_protected = self == Self::Waiting && state.phase() == Phase::Idle && is_recent;
        self.covers(state.phase()) && !is_protected
    }
}

/// The maximum number of connections with the order to make room that are not closed yet. Bounds how many connections
/// more than the limit are open.
const LEAVING_MAX: usize = 64;

/// All open connections of the listeners that share a limit.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Seconds since the watch began.
    clock: Arc<AtomicU32>,
    patience: Patience,
    open: Mutex<Open>,
    /// Notified when a connection was closed, and every second.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// By number, so in the order of their opening.
    connections: BTreeMap<u64, Entry>,
    next_number: u64,
    /// The number of open connections that have the order to make room.
    leaving: usize,
    /// The connections that have waited longest, in this order, as found by the last search.
    candidates: VecDeque<(u64, State)>,
    /// Whether new connections get the order to end.
    ending: bool,
}

#[derive(Debug)]
struct Entry {
    progress: Arc<Progress>,
    transfer: Transfer,
    is_leaving: bool,
    /// The state in which the connection was last told to rest.
    rested: Option<State>,
}

/// The body or answer under way, as of the last check.
#[derive(Debug)]
struct Transfer {
    state: State,
    moved: u64,
    /// Bytes by which the transfer lags behind [`Patience::rate_min`].
    lag: u64,
}

impl Transfer {
    fn of(progress: &Progress) -> Self {
        Self {
            state: progress.state(),
            moved: progress.moved(),
            lag: 0,
        }
    }

    /// Updates the lag by one second of the transfer; returns whether the transfer is too slow.
    fn is_too_slow(&mut self, state: State, moved: u64, patience: &Patience) -> bool {
        if self.state != state {
            (self.state, self.lag) = (state, 0);
        }
        let more = moved.wrapping_sub(self.moved);
        self.moved = moved;
        self.lag = (self.lag + patience.rate_min).saturating_sub(more);
        self.lag as f64 > patience.rate_min as f64 * patience.stall.as_secs_f64()
    }
}

impl Entry {
    fn is_overdue(&mut self, second: u32, patience: &Patience) -> bool {
        let state = self.progress.state();
        let waited = second.saturating_sub(state.began());
        let waited = Duration::from_secs(u64::from(waited));
        match state.phase() {
            Phase::New | Phase::Head => waited > patience.head,
            Phase::Idle => waited > patience.idle,
            Phase::Linger => waited > patience.linger,
            Phase::Working => false,
            Phase::Body | Phase::Answer => {
                let moved = self.progress.moved();
                self.transfer.is_too_slow(state, moved, patience)
            }
        }
    }
}

impl Entry {
    /// Whether it has just been idle for long enough to rest. True once for each idle time.
    fn begins_rest(&mut self, second: u32) -> bool {
        let state = self.progress.state();
        let is_idle = state.phase() == Phase::Idle
            && second.saturating_sub(state.began()) >= IDLE_SECONDS_MIN;
        let begins = is_idle && self.rested != Some(state);
        if begins {
            self.rested = Some(state);
        }
        begins
    }
}

impl Open {
    /// The connection that has waited longest, if any may be closed.
    fn longest_waiting(&mut self, second: u32, evicts: Evicts) -> Option<&mut Entry> {
        let number = match self.next_candidate() {
            Some(number) => number,
            None => {
                self.find_candidates(second, evicts);
                self.next_candidate()?
            }
        };
        self.connections.get_mut(&number)
    }

    /// The next candidate that still waits. Connections that were not candidates began to wait later.
    fn next_candidate(&mut self) -> Option<u64> {
        while let Some((number, state)) = self.candidates.pop_front() {
            let entry = self.connections.get(&number);
            if entry.is_some_and(|entry| !entry.is_leaving && entry.progress.state() == state) {
                return Some(number);
            }
        }
        None
    }

    /// Keeps as candidates the eighth of the waiting connections that has waited longest, so that one search of all
    /// connections serves many evictions.
    fn find_candidates(&mut self, second: u32, evicts: Evicts) {
        let entries = self.connections.iter();
        let waiting = entries.filter(|(_, entry)| !entry.is_leaving);
        let waiting = waiting.map(|(number, entry)| (*number, entry.progress.state()));
        let mut waiting: Vec<_> = waiting
            .filter(|(_, state)| evicts.covers_now(*state, second))
            .collect();
        waiting.sort_unstable_by_key(|(number, state)| (state.began(), *number));
        waiting.truncate(waiting.len().div_ceil(8));
        self.candidates = waiting.into();
    }
}

/// A watched connection. Dropping it removes the connection from its [`Watch`].
#[derive(Debug)]
pub(crate) struct Watched {
    watch: Arc<Watch>,
    number: u64,
    pub(crate) progress: Arc<Progress>,
}

impl Watched {
    /// Whether the connection may be closed at once when another needs its place.
    pub(super) fn may_be_evicted(&self) -> bool {
        let phase = self.progress.state().phase();
        self.watch.patience.evicts.covers(phase)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut open = self.watch.open.lock();
        if let Some(entry) = open.connections.remove(&self.number)
            && entry.is_leaving
        {
            open.leaving -= 1;
        }
        drop(open);
        self.watch.changed.notify_one();
    }
}

impl Watch {
    pub(crate) fn new(patience: Patience) -> Arc<Self> {
        Arc::new(Self {
            clock: Arc::new(AtomicU32::new(0)),
            patience,
            open: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Watches a new connection.
    pub(crate) fn watch(self: &Arc<Self>) -> Watched {
        let progress = Arc::new(Progress::new(Arc::clone(&self.clock)));
        let mut open = self.open.lock();
        if open.ending {
            progress.send(Order::End);
        }
        let number = open.next_number;
        open.next_number += 1;
        let entry = Entry {
            transfer: Transfer::of(&progress),
            progress: Arc::clone(&progress),
            is_leaving: false,
            rested: None,
        };
        open.connections.insert(number, entry);
        drop(open);
        Watched {
            watch: Arc::clone(self),
            number,
            progress,
        }
    }

    /// Waits until there is room for one more connection within `connections_max`; closes the connection that has
    /// waited longest if necessary. Waits only while all connections are in use, or while too many connections have the
    /// order to make room and are still open. One caller at a time. Cancel safe.
    pub(super) async fn make_room(&self, connections_max: usize) {
        // Each change leaves a permit, so none is missed between the check and the wait.
        while !self.try_make_room(connections_max) {
            self.changed.notified().await;
        }
    }

    fn try_make_room(&self, connections_max: usize) -> bool {
        let mut open = self.open.lock();
        let count = open.connections.len();
        let is_full = count - open.leaving >= connections_max;
        count < connections_max + LEAVING_MAX && (!is_full || self.evict_from(&mut open))
    }

    /// Closes the connection that has waited longest; returns whether there is one.
    pub(super) fn evict(&self) -> bool {
        self.evict_from(&mut self.open.lock())
    }

    fn evict_from(&self, open: &mut Open) -> bool {
        let second = self.clock.load(Ordering::Relaxed);
        let Some(entry) = open.longest_waiting(second, self.patience.evicts) else {
            return false;
        };
        entry.is_leaving = true;
        entry.progress.send(Order::MakeRoom);
        open.leaving += 1;
        true
    }

    /// Checks all connections once a second until shutdown, and then orders them to end.
    pub(crate) async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        // A pause of the whole process does not count against the clients.
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.requested() => return self.end(),
                _ = seconds.tick() => self.tick(),
            }
        }
    }

    /// Advances the clock by a second, orders overdue connections to break off, and tells idle ones to rest.
    pub(super) fn tick(&self) {
        let second = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        for entry in self.open.lock().connections.values_mut() {
            if entry.is_overdue(second, &self.patience) {
                entry.progress.send(Order::BreakOff);
            } else if entry.begins_rest(second) {
                entry.progress.rest();
            }
        }
        self.changed.notify_one();
    }

    /// Sends all connections, also later ones, the order to end.
    pub(super) fn end(&self) {
        let mut open = self.open.lock();
        open.ending = true;
        for entry in open.connections.values() {
            entry.progress.send(Order::End);
        }
    }

    #[cfg(test)]
    pub(super) fn connections(&self) -> usize {
        self.open.lock().connections.len()
    }
}
