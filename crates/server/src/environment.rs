//! The environment of a server: clock, network, object store and coordinator, of the machine or of a simulation.

use std::sync::Arc;

use object_store::ObjectStore;
use partita_coordinator::Registry;
use partita_rt::net::{MachineNetwork, Network};
use partita_rt::{Clock, SystemClock};

/// Clock, network, object store and coordinator of a server.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The network on which it listens.
    pub network: Arc<dyn Network>,
    /// The object store with the objects of a data directory; `None` if they are files in the directory. For a server of
    /// a cluster, the store that is used for the store of the settings.
    pub objects: Option<Arc<dyn ObjectStore>>,
    /// The registry that is used for the etcd of the settings.
    pub registry: Option<Arc<dyn Registry>>,
}

impl Default for Environment {
    /// The environment of this machine.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            network: Arc::new(MachineNetwork),
            objects: None,
            registry: None,
        }
    }
}
