//! Who serves which range, as the coordinator says.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use partita_cluster::{TargetScope, owner_count};
use partita_coordinator::{self as coordinator, RangeRecord, RangeState, Routes, Stored, Table};
use partita_peer::forward::{RangeId, ServiceId, Tenure};
use partita_peer::{Peer, Peers, ServerName};

use super::{Owner, OwnerAddress, Place, Routing};

/// The purpose of the address at which other servers reach a server, in [`coordinator::ServerInfo::addresses`].
pub const PEER_ADDRESS: &str = "peer";

/// The purpose of the URL at which clients reach the tables of a server; absent if that is not known.
pub const TABLE_URL: &str = "table";

/// The purpose of the URL at which clients reach the queues of a server; absent if that is not known.
pub const QUEUE_URL: &str = "queue";

/// Routes to the owners of ranges. The revision of a range's key is its tenure.
#[derive(Clone, Debug)]
pub struct RegistryRouting {
    routes: Routes,
    /// The name of this server.
    name: String,
    /// The id of the cluster, for hints to clients.
    cluster: Option<Arc<str>>,
    peers: Peers,
    /// The peers by name, each with the text of its address: requests find them without reading it again.
    known: Arc<Mutex<HashMap<String, (String, Peer)>>>,
}

impl RegistryRouting {
    /// Routes of the server with this name, which reaches others through `peers`.
    #[must_use]
    pub fn new(routes: Routes, name: String, peers: Peers) -> Self {
        Self {
            routes,
            name,
            cluster: None,
            peers,
            known: Arc::default(),
        }
    }

    /// The same routes, with hints to clients of the cluster with this id.
    #[must_use]
    pub fn with_hints(self, cluster: &str) -> Self {
        Self {
            cluster: Some(cluster.into()),
            ..self
        }
    }

    fn owner(&self, table: &Table, key: &Stored<RangeRecord>) -> Owner {
        let RangeState::Serving { owner, .. } = &key.record.state else {
            return Owner::Unserved;
        };
        if !table.is_alive(&owner.name, owner.life) {
            return Owner::Unserved;
        }
        if owner.name == self.name {
            return Owner::Here;
        }
        self.peer_in(table, &owner.name)
            .map_or(Owner::Unserved, Owner::There)
    }

    /// A living server.
    #[must_use]
    pub fn peer(&self, name: &str) -> Option<Peer> {
        self.peer_in(&self.routes.current(), name)
    }

    fn peer_in(&self, table: &Table, name: &str) -> Option<Peer> {
        let server = table.servers().get(name)?;
        let text = server.record.info.addresses.get(PEER_ADDRESS);
        let text = text.map(String::as_str).unwrap_or_default();
        if let Some((address, peer)) = self.known.lock().get(name)
            && address == text
        {
            return Some(peer.clone());
        }
        let (Ok(address), Ok(server)) = (text.parse(), ServerName::new(name)) else {
            tracing::warn!(
                server = name,
                address = text,
                "a server has no valid address for its peers"
            );
            return None;
        };
        match self.peers.peer(&server, &address) {
            Ok(peer) => {
                let entry = (text.to_owned(), peer.clone());
                self.known.lock().insert(name.to_owned(), entry);
                Some(peer)
            }
            Err(error) => {
                tracing::error!(%error, "cannot connect to peers");
                None
            }
        }
    }
}

impl Routing for RegistryRouting {
    fn place(&self, key: &[u8]) -> Place {
        let table = self.routes.current();
        let Some((range, stored)) = table.range_of(key) else {
            return Place::unknown();
        };
        Place {
            range: Some(RangeId(range.0)),
            tenure: Tenure(stored.revision.0),
            owner: self.owner(&table, stored),
            end: stored.record.shape.end.clone(),
        }
    }

    fn newest(&self, range: RangeId) -> (Tenure, bool) {
        let table = self.routes.current();
        match table.ranges().get(&coordinator::RangeId(range.0)) {
            Some(stored) => {
                let is_own = matches!(self.owner(&table, stored), Owner::Here);
                (Tenure(stored.revision.0), is_own)
            }
            None => (Tenure::default(), false),
        }
    }

    fn has_map(&self) -> bool {
        self.routes.current().revision().0 > 0
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.routes.changed())
    }

    fn owner_count(&self, scope: &TargetScope) -> usize {
        owner_count(&self.routes.current(), scope)
    }

    fn cluster(&self) -> Option<Arc<str>> {
        self.cluster.clone()
    }

    fn address(&self, key: &[u8], service: ServiceId) -> Option<OwnerAddress> {
        let table = self.routes.current();
        let (_, stored) = table.range_of(key)?;
        let RangeState::Serving { owner, .. } = &stored.record.state else {
            return None;
        };
        if !table.is_alive(&owner.name, owner.life) {
            return None;
        }
        let purpose = match service {
            ServiceId::Table => TABLE_URL,
            ServiceId::Queue => QUEUE_URL,
        };
        let server = table.servers().get(&owner.name)?;
        Some(OwnerAddress {
            url: server.record.info.addresses.get(purpose)?.clone(),
            start: stored.record.shape.start.clone(),
            end: stored.record.shape.end.clone(),
        })
    }
}
