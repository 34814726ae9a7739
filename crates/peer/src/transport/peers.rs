//! All peers of a server.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use partita_rt::Tasks;
use partita_rt::net::Network;

use super::connect_error::Target;
use super::peer::{Pool, budget};
use super::{Address, Peer, Settings};
use crate::key::{Identity, KeyError, ServerName};

/// All peers of a server, with their connections. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Peers {
    shared: Arc<Pool>,
    identity: Arc<Identity>,
    known: Arc<Mutex<HashMap<ServerName, Peer>>>,
}

impl Peers {
    /// Peers that are reached over a network. Connections are tasks of `tasks`; after its shutdown they close with their
    /// last request, so shut it down after the fronts have ended.
    #[must_use]
    pub fn new(
        identity: Arc<Identity>,
        network: Arc<dyn Network>,
        settings: Settings,
        tasks: Tasks,
    ) -> Self {
        let bytes = budget(settings.forwarded_bytes_max);
        Self {
            shared: Arc::new(Pool {
                network,
                settings,
                tasks,
                bytes,
            }),
            identity,
            known: Arc::default(),
        }
    }

    /// The peer of a name at an address. Opens no connection. A server that has moved is a new peer; the connections to
    /// its old address close when their requests have ended.
    ///
    /// # Errors
    /// When TLS does not accept the own certificate.
    pub fn peer(&self, name: &ServerName, address: &Address) -> Result<Peer, KeyError> {
        let mut known = self.known.lock();
        if let Some(peer) = known.get(name)
            && peer.address() == address
        {
            return Ok(peer.clone());
        }
        let target = Target {
            name: name.clone(),
            address: address.clone(),
            fingerprint: self.identity.fingerprint().to_owned(),
        };
        let tls = self.identity.client_config(name.clone())?;
        let peer = Peer::new(Arc::clone(&self.shared), target, tls);
        known.insert(name.clone(), peer.clone());
        Ok(peer)
    }

    /// Forgets a server that has left the cluster. Its connections close when their requests have ended.
    pub fn forget(&self, name: &ServerName) {
        self.known.lock().remove(name);
    }
}
