//! Serving the store, and giving it up.

use std::sync::Arc;

use futures::future::BoxFuture;
use partita_cluster::Coordinator;
use partita_peer::forward::{RangeId, Tenure};

use super::parts::MemberParts;
use crate::Server;
use crate::config::Settings;
use crate::environment::Environment;
use crate::forwarding::{AnswerGate, Hosted, Membership};
use crate::serve::{Error, Opening, Services};

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
    pub(super) fn hosting_parts(&self) -> HostingParts {
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
