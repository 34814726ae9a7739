//! A server that is a member of a cluster.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::parts::MemberParts;
use crate::Server;
use crate::config::Settings;
use crate::environment::Environment;
use crate::forwarding::Membership;
use crate::serve::{Error, Opening};

/// What a life in the cluster uses of its server.
#[derive(Debug, Clone)]
pub(crate) struct HostingParts {
    pub(crate) opening: Arc<Opening>,
    pub(crate) membership: Arc<Membership>,
}

impl Server {
    /// Starts a server without a range, like [`Server::start_in`]. It holds and forwards requests, and executes those on
    /// ranges that it takes over.
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
}
