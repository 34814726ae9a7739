//! The services of this server, which execute the operations on the ranges that it serves.

use std::sync::Arc;

use futures::future::BoxFuture;
use partita_cluster::PartitionMap;
use tokio::sync::watch;

use super::AnswerGate;

/// The services over the ranges of this server.
#[derive(Debug)]
pub struct Hosted {
    /// The Table service.
    pub tables: Arc<partita_table::Service>,
    /// The Queue service.
    pub queues: Arc<partita_queue::Service>,
    /// The gate of the lease under which its ranges were opened.
    pub gate: Arc<dyn AnswerGate>,
}

impl Hosted {
    /// The ranges that this server serves.
    pub(crate) fn ranges(&self) -> &PartitionMap {
        self.tables.map()
    }
}

/// The services of this server, once its store is open.
#[derive(Debug, Default)]
pub struct Hosting {
    current: watch::Sender<Option<Arc<Hosted>>>,
}

impl Hosting {
    /// Serves the ranges of these services from now on.
    pub fn serve(&self, hosted: Hosted) {
        self.current.send_replace(Some(Arc::new(hosted)));
    }

    /// What it serves.
    #[must_use]
    pub fn current(&self) -> Option<Arc<Hosted>> {
        self.current.borrow().clone()
    }

    /// Waits until it serves other services or ranges than at this call. Cancel safe.
    pub(super) fn changed(&self) -> BoxFuture<'static, ()> {
        let mut current = self.current.subscribe();
        let ranges = current.borrow_and_update().clone();
        let ranges = ranges.map(|hosted| hosted.ranges().changed());
        Box::pin(async move {
            let ranges = async {
                match ranges {
                    Some(changed) => changed.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // Fails only when the server is gone.
                _ = current.changed() => {}
                () = ranges => {}
            }
        })
    }
}
