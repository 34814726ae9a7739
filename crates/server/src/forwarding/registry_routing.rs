//! Who has the store, as the coordinator says.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use partita_coordinator::{self as coordinator, RangeState, Revision, Routes, Table};
use partita_peer::forward::{RangeId, Tenure};
use partita_peer::{Peer, Peers, ServerName};

use super::{Owner, Place, Routing, RoutingKey};

/// The purpose of the address at which other servers reach a server, in [`coordinator::ServerInfo::addresses`].
pub const PEER_ADDRESS: &str = "peer";

/// The name of all ranges together in forwarded requests: at present one server, the elected manager, serves them all.
/// Ranges of a map are numbered from 1.
pub const STORE: RangeId = RangeId(0);

/// Routes to the elected manager, once it serves all ranges. Its term is the tenure.
#[derive(Debug)]
pub struct RegistryRouting {
    routes: Routes,
    /// The name of this server.
    name: String,
    peers: Peers,
    /// Whether the manager serves all ranges in the table of this revision.
    serves_all: Mutex<(Revision, bool)>,
}

impl RegistryRouting {
    /// Routes of the server with this name, which reaches others through `peers`.
    #[must_use]
    pub fn new(routes: Routes, name: String, peers: Peers) -> Self {
        Self {
            routes,
            name,
            peers,
            serves_all: Mutex::default(),
        }
    }

    fn owner(&self, table: &Table, manager: &coordinator::Owner) -> Owner {
        if !self.serves_all(table, manager) {
            return Owner::Unserved;
        }
        if manager.name == self.name {
            return Owner::Here;
        }
        self.peer(table, &manager.name)
            .map_or(Owner::Unserved, Owner::There)
    }

    /// Whether the manager has opened all ranges. Looks at all of them once for each change of the table.
    fn serves_all(&self, table: &Table, manager: &coordinator::Owner) -> bool {
        let mut known = self.serves_all.lock();
        if known.0 != table.revision() {
            let mut states = table.ranges().values().map(|range| &range.record.state);
            let is_served = |state: &RangeState| matches!(state, RangeState::Serving { owner, .. } if owner == manager);
            *known = (
                table.revision(),
                !table.ranges().is_empty() && states.all(is_served),
            );
        }
        known.1
    }

    fn peer(&self, table: &Table, name: &str) -> Option<Peer> {
        let server = table.servers().get(name)?;
        let address = server.record.info.addresses.get(PEER_ADDRESS);
        let parsed = address.and_then(|address| address.parse().ok());
        let (Some(address), Ok(name)) = (parsed, ServerName::new(name)) else {
            tracing::warn!(
                server = name,
                ?address,
                "a server has no valid address for its peers"
            );
            return None;
        };
        match self.peers.peer(&name, &address) {
            Ok(peer) => Some(peer),
            Err(error) => {
                tracing::error!(%error, "cannot connect to peers");
                None
            }
        }
    }
}

impl Routing for RegistryRouting {
    fn place(&self, _key: &RoutingKey<'_>) -> Place {
        let table = self.routes.current();
        // The key of a manager ends with its lease.
        let (tenure, owner) = match table.manager() {
            Some(manager) => (
                Tenure(manager.created.0),
                self.owner(&table, &manager.record.owner),
            ),
            None => (Tenure::default(), Owner::Unserved),
        };
        Place {
            range: Some(STORE),
            tenure,
            owner,
        }
    }

    fn newest(&self, range: RangeId) -> Tenure {
        let table = self.routes.current();
        let manager = table.manager().filter(|_| range == STORE);
        manager.map_or(Tenure::default(), |manager| Tenure(manager.created.0))
    }

    fn has_map(&self) -> bool {
        self.routes.current().revision() > Revision(0)
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.routes.changed())
    }
}
