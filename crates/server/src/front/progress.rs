//! Connections that do not get on are closed, without a timer for each request.
//!
//! A connection writes down what it waits for and since which second; once a second one task looks at all of them, and tells
//! those that are overdue, and all of them when the server shuts down. So a request costs a few relaxed stores, and a limit is
//! kept to within a second. What a connection looks at whenever it wakes is its own: nothing is shared between connections.

use futures::task::AtomicWaker;
use parking_lot::Mutex;
use partita_rt::Shutdown;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

/// How long a connection may wait, by what it waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the first byte of a request.
    pub(super) idle: Duration,
    /// For the rest of its head.
    pub(super) head: Duration,
    /// For the next byte of its body, or for the client to take any byte of the answer.
    pub(super) stall: Duration,
    /// For the client to take all of the answer.
    pub(super) answer: Duration,
}

/// How long a client may take over an answer that it takes byte by byte: it holds the whole page in memory, and a place among the
/// connections. nginx has no such bound (`send_timeout` is between two writes), Kestrel asks for 240 bytes a second after 5 s
/// (`MinResponseDataRate`), which would be 5 hours for a page of 4 MiB; ten minutes are 7 KB a second for that, and any rate for
/// what the socket's buffers take at once.
pub(super) const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);

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

/// Of a second in [`Progress::state`]: enough for 34 years.
const SECOND_BITS: u32 = 30;
const SECOND_MASK: u64 = (1 << SECOND_BITS) - 1;

/// What a connection is told; the greatest of those told counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Order {
    /// To go on.
    GoOn = 0,
    /// To answer the request under way, and close.
    End = 1,
    /// To close now: it is overdue.
    BreakOff = 2,
}

/// What one connection tells of itself, and is told.
#[derive(Debug)]
pub(super) struct Progress {
    clock: Arc<AtomicU32>,
    /// Phase, the second in which it began, and that in which it last moved, so that they are read together.
    state: AtomicU64,
    /// An [`Order`].
    order: AtomicU8,
    waker: AtomicWaker,
}

impl Progress {
    fn tell(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Release);
        self.waker.wake();
    }

    /// What the connection has been told.
    pub(super) fn order(&self) -> Order {
        match self.order.load(Ordering::Acquire) {
            0 => Order::GoOn,
            1 => Order::End,
            _ => Order::BreakOff,
        }
    }

    /// Waits for another order than the one that is known. For the task of the connection alone. Cancel safe.
    pub(super) async fn next_order(&self, known: Order) -> Order {
        poll_fn(|context| {
            self.waker.register(context.waker());
            // After that, or an order that comes in between would wake nobody.
            let order = self.order();
            if order == known {
                Poll::Pending
            } else {
                Poll::Ready(order)
            }
        })
        .await
    }

    /// The connection waits for something else, from now on.
    pub(super) fn enter(&self, phase: Phase) {
        let second = u64::from(self.clock.load(Ordering::Relaxed));
        let (phase, began) = (phase as u64, second << SECOND_BITS);
        let state = phase << (2 * SECOND_BITS) | began | second;
        self.state.store(state, Ordering::Relaxed);
    }

    /// The connection got on with what it waits for.
    fn moved(&self) {
        let second = u64::from(self.clock.load(Ordering::Relaxed));
        let state = self.state.load(Ordering::Relaxed) & !SECOND_MASK | second;
        self.state.store(state, Ordering::Relaxed);
    }

    /// A byte came. The first one of a request begins its head; later ones of a head do not stretch its time.
    pub(super) fn read_bytes(&self) {
        match self.phase() {
            IDLE => self.enter(Phase::Head),
            BODY => self.moved(),
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
        match self.phase() {
            BODY => {}
            ANSWER => self.moved(),
            _ => self.enter(Phase::Answer),
        }
    }

    /// Everything was sent.
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
    /// Told to all that come.
    ending: bool,
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
            progress.tell(Order::End);
        }
        open.connections.insert(number, Arc::clone(&progress));
        drop(open);
        Watched {
            watch: Arc::clone(self),
            number,
            progress,
        }
    }

    /// Looks at all connections once a second until shutdown, and then tells them to end.
    pub(super) async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                () = shutdown.requested() => return self.end(),
                _ = seconds.tick() => self.tick(),
            }
        }
    }

    /// One second has passed.
    fn tick(&self) {
        let second = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        for progress in self.open.lock().connections.values() {
            if progress.is_overdue(second, &self.patience) {
                progress.tell(Order::BreakOff);
            }
        }
    }

    /// Tells all connections to end, and those that are still to come.
    fn end(&self) {
        let mut open = self.open.lock();
        open.ending = true;
        for progress in open.connections.values() {
            progress.tell(Order::End);
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
            "more bytes do not stretch the head's time"
        );
        assert!(idle.progress.order() == Order::GoOn);
        pass(&watch, 5);
        assert!(idle.progress.order() == Order::BreakOff);
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
        assert!(moving.progress.order() == Order::GoOn && working.progress.order() == Order::GoOn);
        pass(&watch, 4);
        assert!(
            moving.progress.order() == Order::BreakOff && working.progress.order() == Order::GoOn
        );
    }

    #[test]
    fn an_answer_that_is_taken_byte_by_byte_has_an_end() {
        let watch = watch();
        let (slow, next) = (watch.watch(), watch.watch());
        for connection in [&slow, &next] {
            connection.progress.enter(Phase::Working);
            connection.progress.has_to_write();
        }
        for _ in 0..10 {
            pass(&watch, 2);
            slow.progress.wrote_bytes();
            // One answer after the other is not a slow one.
            next.progress.wrote_bytes();
            next.progress.flushed();
            next.progress.read_bytes();
            next.progress.enter(Phase::Working);
            next.progress.wrote_bytes();
        }
        assert!(
            slow.progress.order() == Order::GoOn,
            "it has all of its time"
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
    async fn a_connection_hears_what_it_is_told_before_and_while_it_listens() {
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
            "the worse of the two stands"
        );
    }
}
