//! The environment of a server: clock, network, object store, coordinator and versions, of the machine or of a simulation.

use std::sync::Arc;

use object_store::ObjectStore;
use partita_coordinator::{Registry, Versions};
use partita_rt::net::{MachineNetwork, Network};
use partita_rt::{Clock, SystemClock};

/// The variable by which a program with debug assertions pretends to support other cluster versions than its own, such as
/// `1-2`. Tests upgrade a cluster with it.
const PRETENDED_VERSIONS: &str = "TEST_PARTITA_CLUSTER_VERSIONS";

/// Clock, network, object store, coordinator and versions of a server.
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
    /// The cluster versions that the server supports.
    pub versions: Versions,
}

impl Default for Environment {
    /// The environment of this machine.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            network: Arc::new(MachineNetwork),
            objects: None,
            registry: None,
            versions: pretended_versions().unwrap_or(Versions::OWN),
        }
    }
}

/// The versions that a test demands. A program without debug assertions, such as a release, has only its own.
fn pretended_versions() -> Option<Versions> {
    let text = cfg!(debug_assertions).then(|| std::env::var(PRETENDED_VERSIONS).ok())??;
    Versions::parse(&text)
}
