//! A server as a member of a cluster: it forwards requests, and serves the store while it owns it.
//!
//! ```text
//!  start_member ─▶ forwards everything ─▶ open_store ─▶ (activate the tenure) ─▶ host ─▶ … ─▶ give_up ─▶ forwards
//! ```
//!
//! A process opens the store once: after it gave the store up, only a new process can open it again.

mod life;
mod start;

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use partita_cluster::Coordinator;
use partita_peer::forward::{RangeId, Tenure};
use partita_rt::net::Listener;

use crate::Server;
use crate::config::Settings;
use crate::environment::Environment;
use crate::forwarding::{AnswerGate, Hosted, Membership, Routing};
use crate::serve::{Error, Opening, Services};

pub use start::JoinError;
pub(crate) use start::start;

pub(crate) use life::{Life, LifeParts};

/// What a server needs to be a member of a cluster.
pub struct MemberParts {
    /// The map of ranges and owners.
    pub routing: Arc<dyn Routing>,
    /// Accepts the connections of other servers.
    pub acceptor: partita_peer::Server,
    /// Where it accepts them.
    pub listener: Box<dyn Listener>,
}

impl fmt::Debug for MemberParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberParts").finish_non_exhaustive()
    }
}

/// What serves the store when this server is elected.
#[derive(Debug, Clone)]
pub(crate) struct HostingParts {
    pub(crate) opening: Arc<Opening>,
    pub(crate) membership: Arc<Membership>,
}

impl Server {
    /// Starts a server that serves no store yet, like [`Server::start_in`]. It holds and forwards requests.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn start_member(
        environment: Environment,
        settings: Settings,
        parts: MemberParts,
    ) -> BoxFuture<'static, Result<Server, Error>> {
        Self::launch(environment, settings, Some(parts))
    }

    /// # Panics
    /// Without a membership.
    fn hosting_parts(&self) -> HostingParts {
        let membership = self.membership.as_ref();
        HostingParts {
            opening: Arc::clone(&self.opening),
            membership: Arc::clone(membership.expect("the server is a member")),
        }
    }

    /// The cluster; `None` for an embedded server.
    pub fn membership(&self) -> Option<&Arc<Membership>> {
        self.membership.as_ref()
    }

    /// Opens the store of the settings, without serving it: the tenure must be recorded before. The coordinator says
    /// which process serves each range.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn open_store(
        &self,
        coordinator: Arc<dyn Coordinator>,
    ) -> BoxFuture<'_, Result<Services, Error>> {
        Box::pin(self.opening.open(coordinator))
    }

    /// Serves an open store from now on, in this tenure and behind this gate. Held requests are executed. Without a
    /// membership it does nothing: an embedded server serves its store already.
    pub fn host(
        &self,
        Services { tables, queues }: Services,
        range: RangeId,
        tenure: Tenure,
        gate: Arc<dyn AnswerGate>,
    ) {
        if let Some(membership) = &self.membership {
            membership.hosting().serve(Hosted {
                range,
                tenure,
                tables,
                queues,
                gate,
            });
        }
    }

    /// Serves the store no longer, and closes it: everything that was acknowledged is durable. Requests that have not
    /// reached it are held or forwarded.
    pub fn give_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(membership) = &self.membership {
                membership.hosting().stop();
            }
            let late = self.opening.close().await;
            if !late.is_empty() {
                tracing::warn!(tasks = ?late, "tasks of the store did not end in time");
            }
        })
    }
}
