//! What a member of a cluster has beside its settings.

use std::fmt;
use std::sync::Arc;

use partita_rt::net::Listener;

use crate::forwarding::{AnswerGate, Routing};

/// What a server needs to be a member of a cluster.
pub struct MemberParts {
    /// The map of ranges and owners.
    pub routing: Arc<dyn Routing>,
    /// The gate of its lease.
    pub gate: Arc<dyn AnswerGate>,
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
