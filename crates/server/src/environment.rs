//! The environment of a server: clock, network and object store, of the machine or of a simulation.

use std::sync::Arc;

use object_store::ObjectStore;
use partita_rt::net::{MachineNetwork, Network};
use partita_rt::{Clock, SystemClock};

/// Clock, network and object store of a server.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The network on which it listens.
    pub network: Arc<dyn Network>,
    /// The object store with the objects of a data directory; `None` if they are files in the directory.
    pub objects: Option<Arc<dyn ObjectStore>>,
}

impl Default for Environment {
    /// The environment of this machine.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            network: Arc::new(MachineNetwork),
            objects: None,
        }
    }
}
