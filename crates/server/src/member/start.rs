//! Starting a server as a member of the cluster of its settings.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use partita_coordinator::{EtcdRegistry, Registry, Routes, ServerInfo, StateDir};
use partita_peer::{ClusterKey, Identity, Peers, ServerName};
use partita_rt::Tasks;

use super::client_urls::client_urls;
use super::join_error::JoinError;
use super::parts::MemberParts;
use super::process::{self, LifeParts};
use super::shared_settings::fingerprints;
use crate::config::{ClusterSettings, ObjectStorePlace, Settings};
use crate::connect::authority;
use crate::environment::Environment;
use crate::forwarding::{AnswerGate, LifeGate, PEER_ADDRESS, RegistryRouting, Routing, Unowned};
use crate::serve::bind;
use crate::status::ClusterView;
use crate::{Server, VERSION, serve, store};

/// Starts a server of a cluster. It serves when this returns: it holds and forwards requests until it has ranges.
pub(crate) fn start(
    environment: Environment,
    settings: Settings,
    cluster: ClusterSettings,
    place: ObjectStorePlace,
) -> BoxFuture<'static, Result<Server, serve::Error>> {
    Box::pin(async move {
        let (host, port) = (&cluster.peer_host, cluster.peer_port);
        let (listener, address) = bind(&*environment.network, host, port, "peer-port").await?;
        let address = authority(&cluster.advertise, address.port());
        let name = match &cluster.name {
            Some(name) => name.clone(),
            None => ServerName::new(&address).map_err(JoinError::from)?,
        };
        // Before the state directory is created.
        let key = ClusterKey::read(&cluster.key).map_err(JoinError::from)?;
        // Before the store is used: a second process with this name must not get as far.
        let state_dir = state_dir(&cluster, &name);
        drop(StateDir::open(&state_dir).map_err(JoinError::from)?);
        let clock = Arc::clone(&environment.clock);
        let identity = Identity::issue(key, name.clone(), clock).map_err(JoinError::from)?;
        let (examined, versions) = store::examine(&place, &environment).await?;
        let links = Tasks::new();
        let registry = registry(&environment, &cluster, &examined.id, &links)?;
        let of_peers = partita_peer::Settings::default();
        let acceptor = partita_peer::Server::new(&identity, of_peers.clone());
        let network = Arc::clone(&environment.network);
        let peers = Peers::new(identity, network, of_peers, links.clone());
        let routes = Routes::follow(Arc::clone(&registry), &links);
        let routing = RegistryRouting::new(routes.clone(), name.to_string(), peers);
        let routing = Arc::new(routing.with_hints(&examined.id));
        let gate = Arc::new(LifeGate::default());
        let parts = MemberParts {
            routing: Arc::clone(&routing) as Arc<dyn Routing>,
            gate: Arc::clone(&gate) as Arc<dyn AnswerGate>,
            acceptor: acceptor.map_err(JoinError::from)?,
            listener,
        };
        let (clock, program) = (Arc::clone(&environment.clock), environment.versions);
        let shared_settings = fingerprints(&settings);
        let mut server = Server::start_member(environment, settings, parts).await?;
        let status = Arc::clone(server.status());
        let urls = client_urls(&status.settings, status.listening, &cluster.advertise);
        let peer = [(PEER_ADDRESS.to_owned(), address)];
        let info = ServerInfo {
            addresses: urls.into_iter().chain(peer).collect(),
            version: VERSION.to_owned(),
            settings: shared_settings,
            ..ServerInfo::default()
                .with_versions(program)
                .with_roles(&cluster.roles)
        };
        status.sees(ClusterView {
            name: name.to_string(),
            routes: routes.clone(),
            routing: Arc::clone(&routing),
            unowned: Unowned::follow(routes.clone(), Arc::clone(&clock), &links),
        });
        let parts = LifeParts {
            registry,
            routes,
            routing,
            gate,
            clock,
            name: name.to_string(),
            info,
            ttl: cluster.lease,
            state_dir,
            versions,
            finalize_after: cluster.finalize_after,
        };
        server.lives(process::begin(parts, server.hosting_parts(), links));
        Ok(server)
    })
}

/// The registry of the cluster whose store has this id.
fn registry(
    environment: &Environment,
    cluster: &ClusterSettings,
    store: &str,
    tasks: &Tasks,
) -> Result<Arc<dyn Registry>, JoinError> {
    if let Some(registry) = &environment.registry {
        return Ok(Arc::clone(registry));
    }
    let registry = EtcdRegistry::new(cluster.etcd.clone().with_store(store));
    let registry = Arc::new(registry.map_err(JoinError::Etcd)?);
    tasks.spawn(
        "examining etcd",
        warn_of_ended_leases(Arc::clone(&registry)),
    );
    Ok(registry)
}

/// Warns of an etcd that can end the lease of a server that is alive: another server may take its ranges over while it
/// still answers reads.
async fn warn_of_ended_leases(registry: Arc<EtcdRegistry>) {
    // Without an answer, the join reports what is wrong.
    if registry.ends_live_leases().await.is_ok_and(|ends| ends) {
        tracing::warn!(
            "this version of etcd, with several members, can end leases of servers that are alive (etcd issue 15247). \
             After that, a server may answer reads with old rows for the time of its lease. Use etcd 3.4.31, 3.5.13 or \
             later, or one member"
        );
    }
}

fn state_dir(cluster: &ClusterSettings, name: &ServerName) -> PathBuf {
    let of_name = || cluster.state_home.join(name.as_str().replace(':', "-"));
    cluster.state_dir.clone().unwrap_or_else(of_name)
}
