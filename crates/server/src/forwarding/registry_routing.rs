//! The map of ranges as the coordinator has it.

use futures::future::BoxFuture;
use partita_coordinator::{self as coordinator, RangeRecord, RangeState, Routes, Stored, Table};
use partita_peer::forward::{RangeId, Tenure};
use partita_peer::{Peer, Peers, ServerName};

use super::{Owner, Place, Routing, RoutingKey};

/// The purpose of the address at which other servers reach a server, in [`coordinator::ServerInfo::addresses`].
pub const PEER_ADDRESS: &str = "peer";

/// The map of ranges and owners as the coordinator has it. The tenure of a range is the revision of its key.
#[derive(Debug)]
pub struct RegistryRouting {
    routes: Routes,
    /// The name of this server.
    name: String,
    peers: Peers,
}

impl RegistryRouting {
    /// Routes of the server with this name, which reaches others through `peers`.
    #[must_use]
    pub fn new(routes: Routes, name: String, peers: Peers) -> Self {
        Self {
            routes,
            name,
            peers,
        }
    }

    fn owner(&self, table: &Table, record: &RangeRecord) -> Owner {
        let RangeState::Serving { owner, .. } = &record.state else {
            return Owner::Nobody;
        };
        // The key of a range outlives the lease of its owner.
        if !table.is_alive(&owner.name, owner.life) {
            return Owner::Nobody;
        }
        if owner.name == self.name {
            return Owner::Here;
        }
        self.peer(table, &owner.name)
            .map_or(Owner::Nobody, Owner::There)
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
    fn place(&self, key: &RoutingKey<'_>) -> Place {
        let table = self.routes.current();
        let Some((range, stored)) = table.range_of(&key.catalog_key()) else {
            return Place {
                range: None,
                tenure: Tenure::default(),
                owner: Owner::Nobody,
            };
        };
        Place {
            range: Some(RangeId(range.0)),
            tenure: tenure(stored),
            owner: self.owner(&table, &stored.record),
        }
    }

    fn newest(&self, range: RangeId) -> Tenure {
        let table = self.routes.current();
        let stored = table.ranges().get(&coordinator::RangeId(range.0));
        stored.map_or(Tenure::default(), tenure)
    }

    fn has_map(&self) -> bool {
        self.routes.current().revision() > coordinator::Revision(0)
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.routes.changed())
    }
}

fn tenure(stored: &Stored<RangeRecord>) -> Tenure {
    Tenure(stored.revision.0)
}
