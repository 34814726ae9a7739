//! What a server takes from the world around it: the machine's, or that of a simulation.

use std::sync::Arc;

use object_store::ObjectStore;
use partita_rt::net::{MachineNetwork, Network};
use partita_rt::{Clock, SystemClock};

/// The doors of a server.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where connections come from.
    pub network: Arc<dyn Network>,
    /// Keeps the objects of a data directory. Without it the directory does.
    pub objects: Option<Arc<dyn ObjectStore>>,
}

impl Default for Environment {
    /// The machine.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            network: Arc::new(MachineNetwork),
            objects: None,
        }
    }
}
