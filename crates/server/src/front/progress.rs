//! Closes connections without progress, without a timer for each request.
//!
//! Each connection records its phase and when the phase began. Once a second one task checks all connections: it sends
//! overdue connections the order to break off, and at shutdown all connections the order to end. So a request costs a
//! few relaxed stores, and limits hold to within a second. A connection reads its own [`Progress`] only, so connections
//! do not contend for cache lines.

use futures::task::AtomicWaker;
use parking_lot::Mutex;
use partita_rt::Shutdown;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

/// Time limits of a connection, by phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Time until the first byte of a request.
    pub(super) idle: Duration,
    /// Time for the rest of the head.
    pub(super) head: Duration,
    /// Time between two bytes of a body or of an answer.
    pub(super) stall: Duration,
    /// Time for the whole answer.
    pub(super) answer: Duration,
}

/// Time for a client to receive a whole answer, which stays in memory until then. Ten minutes mean 7 KB/s for a page of
/// 4 MiB, and any rate for an answer that fits into the socket's buffers. Kestrel requires 240 bytes/s after 5 s
/// (`MinResponseDataRate`), 5 hours for that page; nginx bounds only the time between two writes (`send_timeout`).
pub(super) const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Phase {
    /// Waits for the client's next request.
    Idle = 0,
    /// Receives a request's head, from its first byte on.
    Head = 1,
    /// Waits for the server, which has its own limits.
    Working = 2,
    /// Receives the body of a request.
    Body = 3,
    /// Sends the answer.
    Answer = 4,
}

const IDLE: u32 = Phase::Idle as u32;
const HEAD: u32 = Phase::Head as u32;
const BODY: u32 = Phase::Body as u32;
const ANSWER: u32 = Phase::Answer as u32;

/// Bits of a second in [`Progress::state`]: enough for 34 years.
const SECOND_BITS: u32 = 30;
const SECOND_MASK: u64 = (1 << SECOND_BITS) - 1;

/// An order to a connection; the greatest order wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Order {
    /// Continue.
    GoOn = 0,
    /// Answer the request under way, and close.
    End = 1,
    /// Close now: a time limit is exceeded.
    BreakOff = 2,
}

/// The phase of one connection, and its order.
#[derive(Debug)]
pub(super) struct Progress {
    clock: Arc<AtomicU32>,
    /// The phase, the second in which it began, and the second of its last progress, in one atomic so that they agree.
    state: AtomicU64,
    /// An [`Order`].
    order: AtomicU8,
    waker: AtomicWaker,
}

impl Progress {
    fn send(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Release);
        self.waker.wake();
    }

    /// The current order.
    pub(super) fn order(&self) -> Order {
        match self.order.load(Ordering::Acquire) {
            0 => Order::GoOn,
            1 => Order::End,
            _ => Order::BreakOff,
        }
    }

    /// Waits for an order other than `known`. Only the connection's own task may call it. Cancel safe.
    pub(super) async fn next_order(&self, known: Order) -> Order {
        poll_fn(|context| {
            self.waker.register(context.waker());
            // Read after the registration: an order in between would not wake this task.
            let order = self.order();
            if order == known {
                Poll::Pending
            } else {
                Poll::Ready(order)
            }
        })
        .await
    }

    /// Begins a phase.
    pub(super) fn enter(&self, phase: Phase) {
        let second = u64::from(self.clock.load(Ordering::Relaxed));
        let (phase, began) = (phase as u64, second << SECOND_BITS);
        let state = phase << (2 * SECOND_BITS) | began | second;
        self.state.store(state, Ordering::Relaxed);
    }

    /// Records progress within the phase.
    fn moved(&self) {
        let second = u64::from(self.clock.load(Ordering::Relaxed));
        let state = self.state.load(Ordering::Relaxed) & !SECOND_MASK | second;
        self.state.store(state, Ordering::Relaxed);
    }

    /// Records received bytes. The first bytes of a request start the time of its head; further bytes do not extend
    /// that time.
    pub(super) fn read_bytes(&self) {
        match self.phase() {
            IDLE => self.enter(Phase::Head),
            BODY => self.moved(),
            _ => {}
        }
    }

    /// Records that the socket's buffer is full, so the client does not receive.
    pub(super) fn has_to_write(&self) {
        if !matches!(self.phase(), BODY | ANSWER) {
            self.enter(Phase::Answer);
        }
    }

    /// Records sent bytes. While a body is received they are `100 Continue`, not the answer.
    pub(super) fn wrote_bytes(&self) {
        match self.phase() {
            BODY => {}
            ANSWER => self.moved(),
            _ => self.enter(Phase::Answer),
        }
    }

    /// Records that all bytes were sent.
    pub(super) fn flushed(&self) {
        if self.phase() == ANSWER {
            self.enter(Phase::Idle);
        }
    }

    fn phase(&self) -> u32 {
        (self.state.load(Ordering::Relaxed) >> (2 * SECOND_BITS)) as u32
    }

    fn is_overdue(&self, second: u32, patience: &Patience) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        let since =
            |then: u64| Duration::from_secs(u64::from(second).saturating_sub(then & SECOND_MASK));
        let (waited, whole) = (since(state), since(state >> SECOND_BITS));
        match (state >> (2 * SECOND_BITS)) as u32 {
            IDLE => waited > patience.idle,
            HEAD => waited > patience.head,
            BODY => waited > patience.stall,
            ANSWER => waited > patience.stall || whole > patience.answer,
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
    open: Mutex<Open>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    connections: HashMap<u64, Arc<Progress>>,
    /// Whether new connections get the order to end.
    ending: bool,
}

/// A watched connection; dropping it ends the watch.
#[derive(Debug)]
pub(super) struct Watched {
    watch: Arc<Watch>,
    number: u64,
    pub(super) progress: Arc<Progress>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watch.open.lock().connections.remove(&self.number);
    }
}

impl Watch {
    pub(super) fn new(patience: Patience) -> Arc<Self> {
        let (clock, next) = (Arc::new(AtomicU32::new(0)), AtomicU64::new(0));
        Arc::new(Self {
            clock,
            patience,
            open: Mutex::default(),
            next,
        })
    }

    /// Watches a new connection, from its first byte on.
    pub(super) fn watch(self: &Arc<Self>) -> Watched {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let progress = Arc::new(Progress {
            clock: Arc::clone(&self.clock),
            state: AtomicU64::new(0),
            order: AtomicU8::new(Order::GoOn as u8),
            waker: AtomicWaker::new(),
        });
        progress.enter(Phase::Idle);
        let mut open = self.open.lock();
        if open.ending {
            progress.send(Order::End);
        }
        open.connections.insert(number, Arc::clone(&progress));
        drop(open);
        Watched {
            watch: Arc::clone(self),
            number,
            progress,
        }
    }

    /// Checks all connections once a second until shutdown, and then orders them to end.
    pub(super) async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                () = shutdown.requested() => return self.end(),
                _ = seconds.tick() => self.tick(),
            }
        }
    }

    /// Advances the clock by a second and orders overdue connections to break off.
    fn tick(&self) {
        let second = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        for progress in self.open.lock().connections.values() {
            if progress.is_overdue(second, &self.patience) {
                progress.send(Order::BreakOff);
            }
        }
    }

    /// Sends all connections, also later ones, the order to end.
    fn end(&self) {
        let mut open = self.open.lock();
        open.ending = true;
        for progress in open.connections.values() {
            progress.send(Order::End);
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
            answer: seconds(20),
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
            slow.progress.order() == Order::BreakOff,
            "more bytes do not extend the head's time"
        );
        assert!(idle.progress.order() == Order::GoOn);
        pass(&watch, 5);
        assert!(idle.progress.order() == Order::BreakOff);
    }

    #[test]
    fn a_slow_body_with_progress_and_a_working_server_have_no_limit() {
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
        assert!(moving.progress.order() == Order::GoOn && working.progress.order() == Order::GoOn);
        pass(&watch, 4);
        assert!(
            moving.progress.order() == Order::BreakOff && working.progress.order() == Order::GoOn
        );
    }

    #[test]
    fn an_answer_received_byte_by_byte_times_out() {
        let watch = watch();
        let (slow, next) = (watch.watch(), watch.watch());
        for connection in [&slow, &next] {
            connection.progress.enter(Phase::Working);
            connection.progress.has_to_write();
        }
        for _ in 0..10 {
            pass(&watch, 2);
            slow.progress.wrote_bytes();
            // Several answers in a row are not one slow answer.
            next.progress.wrote_bytes();
            next.progress.flushed();
            next.progress.read_bytes();
            next.progress.enter(Phase::Working);
            next.progress.wrote_bytes();
        }
        assert!(
            slow.progress.order() == Order::GoOn,
            "the limit is not exceeded yet"
        );
        pass(&watch, 1);
        assert!(slow.progress.order() == Order::BreakOff && next.progress.order() == Order::GoOn);
        pass(&watch, 3);
        assert!(next.progress.order() == Order::BreakOff, "it stalls");
    }

    #[test]
    fn a_closed_connection_is_forgotten() {
        let watch = watch();
        drop(watch.watch());
        assert!(watch.open.lock().connections.is_empty());
    }

    #[tokio::test]
    async fn orders_reach_a_connection_before_and_while_it_waits() {
        let watch = watch();
        let (early, late) = (watch.watch(), watch.watch());
        late.progress.read_bytes();
        let mut listening = Box::pin(late.progress.next_order(Order::GoOn));
        assert!(futures::poll!(listening.as_mut()).is_pending());
        watch.end();
        assert_eq!(listening.await, Order::End);
        assert_eq!(early.progress.next_order(Order::GoOn).await, Order::End);
        let later = watch.watch();
        assert_eq!(later.progress.next_order(Order::GoOn).await, Order::End);
        let mut listening = Box::pin(late.progress.next_order(Order::End));
        assert!(futures::poll!(listening.as_mut()).is_pending());
        pass(&watch, 6);
        assert_eq!(listening.await, Order::BreakOff);
        watch.end();
        assert_eq!(
            late.progress.order(),
            Order::BreakOff,
            "the greater order wins"
        );
    }
}
