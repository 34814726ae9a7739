//! Starting a server: alone with its data, or in the cluster of its settings.

use futures::future::BoxFuture;

use crate::config::{Place, Settings};
use crate::environment::Environment;
use crate::serve::Error;
use crate::{Server, member, open_files};

impl Server {
    /// Starts a server on the machine, on the current runtime; it serves when this returns. Not cancel safe: if the
    /// future is dropped, tasks already started run until the runtime ends.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn start(mut settings: Settings) -> BoxFuture<'static, Result<Server, Error>> {
        settings.limits.connections_max = open_files::room_for(settings.limits.connections_max);
        Self::start_in(Environment::default(), settings)
    }

    /// Starts a server in an environment, like [`Server::start`].
    ///
    /// # Errors
    /// See [`Error`].
    pub fn start_in(
        environment: Environment,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Server, Error>> {
        match (settings.cluster.clone(), settings.store.place.clone()) {
            (Some(cluster), Place::ObjectStore(place)) => {
                member::start(environment, settings, cluster, place)
            }
            _ => Self::launch(environment, settings, None),
        }
    }
}
