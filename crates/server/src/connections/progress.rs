//! The phase of one connection, and the orders that it receives.
//!
//! A connection records its phase, the second in which the phase began, and the bytes that it moves: a few relaxed
//! loads and stores a request. It reads its own [`Progress`] only, so connections do not contend for cache lines.

use futures::task::AtomicWaker;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// No byte has arrived yet, or the TLS handshake is under way.
    New = 0,
    /// Waits for the client's next request.
    Idle = 1,
    /// Receives a request's head, from its first byte on.
    Head = 2,
    /// The server executes the request. This phase has no limit here, because the server limits the time of requests.
    Working = 3,
    /// Receives the body of a request.
    Body = 4,
    /// Sends the answer.
    Answer = 5,
    /// Has answered a request without reading its body; discards the rest of it, so that the client receives the
    /// answer.
    Linger = 6,
}

impl Phase {
    const ALL: [Self; 7] = [
        Self::New,
        Self::Idle,
        Self::Head,
        Self::Working,
        Self::Body,
        Self::Answer,
        Self::Linger,
    ];
}

/// The phase of a connection and the second in which it began, in one number, so that they agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State(u64);

impl State {
    fn new(phase: Phase, began: u32) -> Self {
        Self((phase as u64) << 32 | u64::from(began))
    }

    pub(super) fn phase(self) -> Phase {
        let phase = Phase::ALL.get((self.0 >> 32) as usize);
        *phase.expect("a state is made from a phase")
    }

    /// The second in which the phase began.
    pub(super) fn began(self) -> u32 {
        self.0 as u32
    }
}

/// An order to a connection; the greatest order wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Order {
    /// Continue.
    GoOn = 0,
    /// Answer the request under way, and close.
    End = 1,
    /// Close now if no request is under way, else as [`Order::End`]: another connection needs the place.
    MakeRoom = 2,
    /// Close now: a time limit is exceeded.
    BreakOff = 3,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By its client, or after its last answer.
    Closed,
    /// A time limit was exceeded.
    Slow,
    /// Another connection needed its place.
    Evicted,
    /// The bytes received are not HTTP, or exceed a size limit.
    Protocol,
    /// By an error of the connection.
    Broken,
}

/// The phase and the progress of one connection, and its order.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Seconds since the watch began.
    clock: Arc<AtomicU32>,
    /// A [`State`].
    state: AtomicU64,
    /// Bytes of bodies received and of answers sent.
    moved: AtomicU64,
    /// Whether the connection lingers after its next answer.
    lingers: AtomicBool,
    /// An [`Order`].
    order: AtomicU8,
    /// Whether the connection has been idle for a while and has not rested since.
    rests: AtomicBool,
    waker: AtomicWaker,
}

impl Progress {
    pub(super) fn new(clock: Arc<AtomicU32>) -> Self {
        let progress = Self {
            clock,
            state: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            lingers: AtomicBool::new(false),
            order: AtomicU8::new(Order::GoOn as u8),
            rests: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        };
        progress.enter(Phase::New);
        progress
    }

    pub(super) fn send(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Release);
        self.waker.wake();
    }

    /// Tells the connection that it has been idle for a while, so that it gives back its buffers.
    pub(super) fn rest(&self) {
        self.rests.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// The current order.
    pub(super) fn order(&self) -> Order {
        match self.order.load(Ordering::Acquire) {
            0 => Order::GoOn,
            1 => Order::End,
            2 => Order::MakeRoom,
            _ => Order::BreakOff,
        }
    }

    /// Waits for an order other than `known`. Only the connection's own task may call it. Cancel safe.
    pub(super) async fn next_order(&self, known: Order) -> Order {
        poll_fn(|context| self.poll_order(context, known)).await
    }

    /// As [`Progress::next_order`]; returns `None` when the connection has been idle for a while. Cancel safe.
    pub(super) async fn next_order_or_rest(&self, known: Order) -> Option<Order> {
        poll_fn(|context| match self.poll_order(context, known) {
            Poll::Ready(order) => Poll::Ready(Some(order)),
            // Only the connection's own task clears the flag, so a load and a store suffice.
            Poll::Pending if self.rests.load(Ordering::Acquire) => {
                self.rests.store(false, Ordering::Relaxed);
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    fn poll_order(&self, context: &Context<'_>, known: Order) -> Poll<Order> {
        self.waker.register(context.waker());
        // Reads the order after registering the waker: otherwise an order between the two would wake no task.
        let order = self.order();
        if order == known {
            Poll::Pending
        } else {
            Poll::Ready(order)
        }
    }

    /// Waits for any order. Used before the connection speaks HTTP, when every order means to close. Cancel safe.
    pub(crate) async fn ordered_to_close(&self) -> Ended {
        match self.next_order(Order::GoOn).await {
            Order::GoOn | Order::End => Ended::Closed,
            Order::MakeRoom => Ended::Evicted,
            Order::BreakOff => Ended::Slow,
        }
    }

    /// Begins a phase.
    pub(crate) fn enter(&self, phase: Phase) {
        let second = self.clock.load(Ordering::Relaxed);
        self.store(State::new(phase, second));
    }

    fn store(&self, state: State) {
        self.state.store(state.0, Ordering::Relaxed);
    }

    pub(super) fn state(&self) -> State {
        State(self.state.load(Ordering::Relaxed))
    }

    fn phase(&self) -> Phase {
        self.state().phase()
    }

    /// The bytes of bodies and answers moved so far.
    pub(super) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// Adds to the bytes moved. Only the connection's own task writes this count, so no atomic addition is needed.
    fn add_moved(&self, bytes: usize) {
        let moved = self.moved().wrapping_add(bytes as u64);
        self.moved.store(moved, Ordering::Relaxed);
    }

    /// Records received bytes. The first bytes of a request start the time of its head, further bytes do not extend it.
    /// The first request's time began when the connection was opened.
    pub(super) fn read_bytes(&self, bytes: usize) {
        let state = self.state();
        match state.phase() {
            Phase::New => self.store(State::new(Phase::Head, state.began())),
            Phase::Idle => self.enter(Phase::Head),
            Phase::Body => self.add_moved(bytes),
            Phase::Head | Phase::Working | Phase::Answer | Phase::Linger => {}
        }
    }

    /// Records that the socket's buffer is full: the answer waits until the client receives.
    pub(super) fn has_to_write(&self) {
        if !matches!(self.phase(), Phase::Body | Phase::Answer | Phase::Linger) {
            self.enter(Phase::Answer);
        }
    }

    /// Records sent bytes. While a body is received they are `100 Continue`, not the answer.
    pub(super) fn wrote_bytes(&self, bytes: usize) {
        match self.phase() {
            Phase::Body | Phase::Linger => return,
            Phase::Answer => {}
            Phase::Idle | Phase::Working => self.enter(Phase::Answer),
            Phase::New | Phase::Head => {
                // The head is refused, and the client may still be sending the rest of it.
                self.linger_after_answer();
                self.enter(Phase::Answer);
            }
        }
        self.add_moved(bytes);
    }

    /// Records that all bytes were sent.
    pub(super) fn flushed(&self) {
        if self.phase() == Phase::Answer {
            self.enter(Phase::Idle);
        }
    }

    /// The rest of the request will not be read: the connection has to discard it after the answer.
    pub(crate) fn linger_after_answer(&self) {
        self.lingers.store(true, Ordering::Relaxed);
    }

    pub(super) fn lingers(&self) -> bool {
        self.lingers.load(Ordering::Relaxed)
    }
}
