//! The gate of the present life of a server, which may have several lives.

use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::RwLock;
use partita_coordinator::Gate;

use super::AnswerGate;

/// The gate of the present life of a server. Closed before the first life.
#[derive(Debug, Default)]
pub(crate) struct LifeGate(RwLock<Option<Gate>>);

impl LifeGate {
    /// Begins a life. The server serves no range at that moment.
    pub(crate) fn begin(&self, gate: Gate) {
        *self.0.write() = Some(gate);
    }

    fn current(&self) -> Option<Gate> {
        self.0.read().clone()
    }
}

impl AnswerGate for LifeGate {
    fn is_open(&self) -> bool {
        #[cfg(feature = "planted-bugs")]
        if partita_engine::planted::is_active("cluster-gate-open") {
            return true;
        }
        self.0.read().as_ref().is_some_and(Gate::is_open)
    }

    fn opened(&self, patience: Duration) -> BoxFuture<'_, bool> {
        let current = self.current();
        Box::pin(async move {
            #[cfg(feature = "planted-bugs")]
            if self.is_open() {
                return true;
            }
            match current {
                Some(gate) => gate.opened(patience).await,
                None => false,
            }
        })
    }

    fn open_for(&self) -> Duration {
        let current = self.0.read();
        current.as_ref().map(Gate::open_for).unwrap_or_default()
    }
}
