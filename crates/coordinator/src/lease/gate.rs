//! The gate of a life.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use partita_rt::Clock;
use tokio::sync::watch;

use super::Timing;

/// Whether answers may leave. Clones share one gate; asking costs one reading of the clock.
#[derive(Clone, Debug)]
pub struct Gate {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    /// When it closes, in nanoseconds of [`Clock::boot`]. 0 when the life is over. Written only inside changes of
    /// `progress`, so that nothing opens the gate of a life that is over.
    closes_at: AtomicU64,
    progress: watch::Sender<Progress>,
}

/// The keepalives of a life, counted.
#[derive(Clone, Copy, Default, Debug)]
struct Progress {
    /// Keepalives sent.
    sent: u64,
    /// The newest one that was answered.
    answered: u64,
    /// The newest one that a caller waits for.
    wanted: u64,
    over: bool,
}

/// A keepalive that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    number: u64,
    at: Duration,
}

impl Gate {
    /// A closed gate.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(Shared {
                clock,
                closes_at: AtomicU64::new(0),
                progress: watch::Sender::default(),
            }),
        }
    }

    /// Whether an answer whose work is done may leave now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        nanoseconds(self.shared.clock.boot()) < self.shared.closes_at.load(Ordering::Acquire)
    }

    /// How long it stays open if no keepalive is answered.
    #[must_use]
    pub fn open_for(&self) -> Duration {
        let closes_at = Duration::from_nanos(self.shared.closes_at.load(Ordering::Acquire));
        closes_at.saturating_sub(self.shared.clock.boot())
    }

    /// Waits at most `patience` until it is open, and returns whether it is. Cancel safe.
    pub async fn opened(&self, patience: Duration) -> bool {
        let mut progress = self.shared.progress.subscribe();
        let open = progress.wait_for(|progress| progress.over || self.is_open());
        // The wait fails only when the gate is gone, which this borrow prevents.
        let _ = tokio::time::timeout(patience, open).await;
        self.is_open()
    }

    /// Waits at most `patience` for the answer to a keepalive that is sent from now on, and returns whether it came. All
    /// callers that wait share one keepalive. A read that begins before this call and leaves after it is not stale,
    /// whatever the clocks do. Cancel safe.
    pub async fn confirm(&self, patience: Duration) -> bool {
        let mut mine = 0;
        self.shared.progress.send_modify(|progress| {
            mine = progress.sent + 1;
            progress.wanted = progress.wanted.max(mine);
        });
        let mut progress = self.shared.progress.subscribe();
        let answered = progress.wait_for(|progress| progress.over || progress.answered >= mine);
        match tokio::time::timeout(patience, answered).await {
            Ok(Ok(progress)) => !progress.over,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Whether the life is over: the gate never opens again.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.shared.progress.borrow().over
    }

    /// Waits until the life is over. Cancel safe.
    pub async fn over(&self) {
        let mut progress = self.shared.progress.subscribe();
        // The wait fails only when the gate is gone, which this borrow prevents.
        let _ = progress.wait_for(|progress| progress.over).await;
    }

    /// Waits until a caller wants a keepalive that was not sent yet, or the life is over. Cancel safe.
    pub(super) async fn wanted(&self) {
        let mut progress = self.shared.progress.subscribe();
        let _ = progress
            .wait_for(|progress| progress.over || progress.wanted > progress.sent)
            .await;
    }

    /// Notes that a keepalive, or the request for the lease, is sent now. Call it before sending.
    pub(crate) fn sent(&self) -> Sent {
        let at = self.shared.clock.boot();
        let mut number = 0;
        self.shared.progress.send_modify(|progress| {
            progress.sent += 1;
            number = progress.sent;
        });
        Sent { number, at }
    }

    /// Notes that this keepalive was answered.
    pub(crate) fn answered(&self, sent: Sent, timing: Timing) {
        let closes_at = nanoseconds(sent.at + timing.open_for());
        self.shared.progress.send_modify(|progress| {
            if !progress.over {
                progress.answered = progress.answered.max(sent.number);
                self.shared.closes_at.fetch_max(closes_at, Ordering::AcqRel);
            }
        });
    }

    /// Ends the life: closes the gate for ever.
    pub(crate) fn end(&self) {
        self.shared.progress.send_modify(|progress| {
            progress.over = true;
            self.shared.closes_at.store(0, Ordering::Release);
        });
    }
}

/// The nanoseconds of a time since the machine started, which fit for 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
