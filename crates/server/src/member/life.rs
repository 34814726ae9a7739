//! The life of a server in its cluster, as the server sees it: when it has ended, and how to leave.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::Tasks;
use tokio::sync::watch;

use crate::forwarding::Membership;

/// The life of a server in its cluster, and its task.
#[derive(Debug)]
pub(crate) struct Life {
    /// Keeps the lease and serves. Shut down last: answers need the lease.
    pub(super) tasks: Tasks,
    /// The connections to other servers, and the copy of the registry's keys.
    pub(super) links: Tasks,
    pub(super) ended: watch::Receiver<Option<Arc<str>>>,
    pub(super) membership: Arc<Membership>,
}

impl Life {
    /// Completes when the server has lost the store, and says why. Cancel safe.
    pub(crate) async fn ended(&self) -> Arc<str> {
        let mut ended = self.ended.clone();
        let why = ended.wait_for(Option::is_some).await;
        let why = why.ok().and_then(|why| why.clone());
        match why {
            Some(why) => why,
            // The life was shut down.
            None => std::future::pending().await,
        }
    }

    /// Hands all ranges over to other servers, if there are any, so that clients wait as little as possible.
    pub(crate) async fn hand_over(&self, patience: Duration) {
        let Some(server) = self.membership.range_server() else {
            return;
        };
        if tokio::time::timeout(patience, server.leave())
            .await
            .is_err()
        {
            tracing::warn!("not all ranges were handed over in time");
        }
    }

    /// Leaves the cluster, after the store was closed: ends the lease, so that another server is elected at once.
    pub(crate) async fn leave(&self, patience: Duration) -> Vec<&'static str> {
        let mut late = self.tasks.drain(patience).await;
        late.extend(self.links.drain(patience).await);
        late
    }
}
