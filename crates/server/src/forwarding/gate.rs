//! Whether an answer may leave.

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;
use partita_coordinator::Gate;

/// How long an answer waits for the gate: longer than it takes to renew a lease, shorter than a client waits.
pub(crate) const PATIENCE: Duration = Duration::from_millis(2500);

/// Whether answers of a tenure may leave now: the lease under which its range was opened is valid. Asked after the work.
pub trait AnswerGate: Debug + Send + Sync + 'static {
    /// Whether it is open now.
    fn is_open(&self) -> bool;

    /// Waits at most `patience` until it is open, and returns whether it is. Cancel safe.
    fn opened(&self, patience: Duration) -> BoxFuture<'_, bool>;

    /// How long it stays open if the lease is not renewed; zero for a closed one.
    fn open_for(&self) -> Duration;
}

impl AnswerGate for Gate {
    fn is_open(&self) -> bool {
        Self::is_open(self)
    }

    fn opened(&self, patience: Duration) -> BoxFuture<'_, bool> {
        Box::pin(Self::opened(self, patience))
    }

    fn open_for(&self) -> Duration {
        Self::open_for(self)
    }
}
