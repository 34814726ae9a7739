//! Connections that do not get on are closed, without a timer for each request.
//!
//! A connection writes down what it waits for and since which second; once a second one task looks at all of them. So a
//! request costs two relaxed stores, and a limit is kept to within a second.

use parking_lot::Mutex;
use partita_rt::Shutdown;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a connection may wait, by what it waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the first byte of a request.
    pub(super) idle: Duration,
    /// For the rest of its head.
    pub(super) head: Duration,
    /// For the next byte of its body, or for the client to take any byte of the answer.
    pub(super) stall: Duration,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Phase {
    /// The client's next request.
    Idle = 0,
    /// The rest of a request's head, from its first byte on.
    Head = 1,
    /// The server: its own limits hold.
    Working = 2,
    /// The client: to send more of a body.
    Body = 3,
    /// The client: to take more of an answer.
    Answer = 4,
}

const IDLE: u32 = Phase::Idle as u32;
const HEAD: u32 = Phase::Head as u32;
const BODY: u32 = Phase::Body as u32;
const ANSWER: u32 = Phase::Answer as u32;

/// What one connection tells of itself.
#[derive(Debug)]
pub(super) struct Progress {
    clock: Arc<AtomicU32>,
    /// Phase in the upper half, second in the lower.
    state: AtomicU64,
    /// Cancelled when the connection is to be closed.
    pub(super) overdue: CancellationToken,
}

impl Progress {
    /// The connection waits for something else, from now on.
    pub(super) fn enter(&self, phase: Phase) {
        let second = self.clock.load(Ordering::Relaxed);
        self.state.store(
            u64::from(phase as u32) << 32 | u64::from(second),
            Ordering::Relaxed,
        );
    }

    /// A byte came. The first one of a request begins its head; later ones of a head do not stretch its time.
    pub(super) fn read_bytes(&self) {
        match self.phase() {
            IDLE => self.enter(Phase::Head),
            BODY => self.enter(Phase::Body),
            _ => {}
        }
    }

    /// There is something to send that the client does not take yet.
    pub(super) fn has_to_write(&self) {
        if !matches!(self.phase(), BODY | ANSWER) {
            self.enter(Phase::Answer);
        }
    }

    /// The client took a byte. (Of the answer: `100 Continue` is sent while a body is waited for.)
    pub(super) fn wrote_bytes(&self) {
        if self.phase() != BODY {
            self.enter(Phase::Answer);
        }
    }

    /// Everything was sent.
    pub(super) fn flushed(&self) {
        if self.phase() == ANSWER {
            self.enter(Phase::Idle);
        }
    }

    fn phase(&self) -> u32 {
        (self.state.load(Ordering::Relaxed) >> 32) as u32
    }

    fn is_overdue(&self, second: u32, patience: &Patience) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        let waited = Duration::from_secs(u64::from(second.saturating_sub(state as u32)));
        match (state >> 32) as u32 {
            IDLE => waited > patience.idle,
            HEAD => waited > patience.head,
            BODY | ANSWER => waited > patience.stall,
            _ => false,
        }
    }
}

/// All open connections.
#[derive(Debug)]
pub(super) struct Watch {
    /// Seconds since the watch began.
    clock: Arc<AtomicU32>,
    patience: Patience,
    open: Mutex<HashMap<u64, Arc<Progress>>>,
    next: AtomicU64,
}

/// Takes a connection off the watch when dropped.
#[derive(Debug)]
pub(super) struct Watched {
    watch: Arc<Watch>,
    number: u64,
    pub(super) progress: Arc<Progress>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watch.open.lock().remove(&self.number);
    }
}

impl Watch {
    pub(super) fn new(patience: Patience) -> Arc<Self> {
        let (clock, next) = (Arc::new(AtomicU32::new(0)), AtomicU64::new(0));
        Arc::new(Self {
            clock,
            patience,
            open: Mutex::new(HashMap::new()),
            next,
        })
    }

    /// Watches a new connection, from its first byte on.
    pub(super) fn watch(self: &Arc<Self>) -> Watched {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let progress = Arc::new(Progress {
            clock: Arc::clone(&self.clock),
            state: AtomicU64::new(0),
            overdue: CancellationToken::new(),
        });
        progress.enter(Phase::Idle);
        self.open.lock().insert(number, Arc::clone(&progress));
        Watched {
            watch: Arc::clone(self),
            number,
            progress,
        }
    }

    /// Looks at all connections once a second until shutdown.
    pub(super) async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                _ = seconds.tick() => self.tick(),
            }
        }
    }

    /// One second has passed.
    fn tick(&self) {
        let second = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        for progress in self.open.lock().values() {
            if progress.is_overdue(second, &self.patience) {
                progress.overdue.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> Arc<Watch> {
        let seconds = Duration::from_secs;
        Watch::new(Patience {
            idle: seconds(10),
            head: seconds(5),
            stall: seconds(3),
        })
    }

    fn pass(watch: &Watch, seconds: u32) {
        for _ in 0..seconds {
            watch.tick();
        }
    }

    #[test]
    fn an_idle_connection_is_closed_late_and_a_slow_head_sooner() {
        let watch = watch();
        let (idle, slow) = (watch.watch(), watch.watch());
        slow.progress.read_bytes();
        pass(&watch, 5);
        slow.progress.read_bytes();
        pass(&watch, 1);
        assert!(
            slow.progress.overdue.is_cancelled(),
            "more bytes do not stretch the head's time"
        );
        assert!(!idle.progress.overdue.is_cancelled());
        pass(&watch, 5);
        assert!(idle.progress.overdue.is_cancelled());
    }

    #[test]
    fn a_body_that_moves_may_take_its_time_and_work_is_not_watched() {
        let watch = watch();
        let (moving, working) = (watch.watch(), watch.watch());
        moving.progress.enter(Phase::Body);
        working.progress.enter(Phase::Working);
        for _ in 0..10 {
            pass(&watch, 2);
            moving.progress.read_bytes();
            // `100 Continue` does not end the wait for the body.
            moving.progress.wrote_bytes();
            moving.progress.flushed();
        }
        assert!(
            !moving.progress.overdue.is_cancelled() && !working.progress.overdue.is_cancelled()
        );
        pass(&watch, 4);
        assert!(moving.progress.overdue.is_cancelled() && !working.progress.overdue.is_cancelled());
    }

    #[test]
    fn a_closed_connection_is_forgotten() {
        let watch = watch();
        drop(watch.watch());
        assert!(watch.open.lock().is_empty());
    }
}
