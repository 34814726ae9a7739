//! The store that this server serves.

use std::sync::Arc;

use futures::future::BoxFuture;
use partita_peer::forward::{RangeId, Tenure};
use tokio::sync::watch;

use super::AnswerGate;

/// An open store, served in one tenure.
#[derive(Debug)]
pub struct Hosted {
    /// The range.
    pub range: RangeId,
    /// The tenure.
    pub tenure: Tenure,
    /// The Table service.
    pub tables: Arc<partita_table::Service>,
    /// The Queue service.
    pub queues: Arc<partita_queue::Service>,
    /// The gate of the lease under which it was opened.
    pub gate: Arc<dyn AnswerGate>,
}

/// What this server serves now: one range, or nothing.
#[derive(Debug, Default)]
pub struct Hosting {
    current: watch::Sender<Option<Arc<Hosted>>>,
}

impl Hosting {
    /// Serves a range from now on. Call it after the tenure is recorded: the range was opened and activated.
    pub fn serve(&self, hosted: Hosted) {
        self.current.send_replace(Some(Arc::new(hosted)));
    }

    /// Serves nothing from now on. Requests that have begun continue, until the caller closes the store.
    pub fn stop(&self) {
        self.current.send_replace(None);
    }

    /// What it serves.
    #[must_use]
    pub fn current(&self) -> Option<Arc<Hosted>> {
        self.current.borrow().clone()
    }

    /// Waits until it serves something else than at this call. Cancel safe.
    pub(super) fn changed(&self) -> BoxFuture<'static, ()> {
        let mut current = self.current.subscribe();
        Box::pin(async move {
            // Fails only when the server is gone.
            let _ = current.changed().await;
        })
    }
}
