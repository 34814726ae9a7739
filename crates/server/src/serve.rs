//! Starts and stops a server: from settings to open ports, and back without losing a request.
//!
//! ```text
//! start: bind all ports → admin port answers "starting" → load certificates → open data → services serve → ready
//! stop:  close the services' ports → wait for running requests (drain timeout) → end background work → close the data
//! ```
//!
//! Ports are bound first: a second server fails on its port before it touches data, and the admin port reports the
//! progress of opening the data. Clients that connect early wait in the listen queue. After a stop, every acknowledged
//! write is durable.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use partita_cluster::{Cluster, RangeSpec, SharedParts, TargetLoad, TargetScope};
use partita_engine::{EngineSet, LogNumber};
use partita_rt::net::{Listener, Network};
use partita_rt::{Clock, Tasks};
use partita_service::{FarRows, MemoryBudget, Storage, Targets};
use partita_table::{Service, ServiceSettings};
use partita_wire::{BearerRules, Hosts, Jwks};

use crate::config::{AdminListener, Limits, Oauth, ServiceListener, Settings};
use crate::environment::Environment;
use crate::forwarding::{Membership, PeerRows};
use crate::front::queue::QueueFront;
use crate::front::table::TableFront;
use crate::front::{
    Connections, Front, FrontParts, InvalidAccount, InvalidSetting, Receiver, accounts,
};
use crate::known_names::LastNames;
use crate::member::join_error::JoinError;
use crate::member::life::Life;
use crate::member::parts::MemberParts;
use crate::metrics::Metrics;
use crate::scrub::Scrubber;
use crate::status::{Listening, OpenStore, ServerStatus};
use crate::store::{self, OpenRanges};
use crate::{admin, freed_memory, tls};

/// Time for background work and the admin port to end, after the last request.
const BACKGROUND_DRAIN: Duration = Duration::from_secs(5);

/// The sweep looks for late writes to a dropped table or queue for the longest time that a request can take, plus this time.
const DROP_GRACE_SPARE: Duration = Duration::from_secs(20);

/// Why a server does not start. Most reasons need a change by the operator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address is not available for listening.
    #[error(
        "cannot listen on {host}:{port}; --{flag} chooses another port{}",
        or_none(flag)
    )]
    Bind {
        /// The configured host.
        host: String,
        /// The configured port.
        port: u16,
        /// The flag that changes the port.
        flag: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The certificates cannot be used.
    #[error("cannot serve HTTPS")]
    Tls(#[from] tls::Error),
    /// The data cannot be opened.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The server cannot be a member of its cluster.
    #[error("cannot join the cluster")]
    Join(#[from] JoinError),
    /// An account of the settings is invalid.
    #[error(transparent)]
    Account(#[from] InvalidAccount),
    /// The keys of the token issuer cannot be read.
    #[error("cannot read the keys of the token issuer from {} (--oauth-jwks)", path.display())]
    Jwks {
        /// The file of `--oauth-jwks`.
        path: PathBuf,
        /// The system's reason, or the parser's.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A setting has characters that are not allowed in the header that carries it.
    #[error(transparent)]
    InvalidSetting(#[from] InvalidSetting),
}

/// What the flag of a port means with the value 0, if the port is not needed.
fn or_none(flag: &str) -> &'static str {
    match flag {
        "queue-port" => ", or 0 for no queues",
        _ => "",
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    status: Arc<ServerStatus>,
    authority: Option<PathBuf>,
    requests: Tasks,
    /// The connections of other servers of the cluster.
    peers: Tasks,
    background: Tasks,
    pub(crate) opening: Arc<Opening>,
    pub(crate) membership: Option<Arc<Membership>>,
    /// The life in the cluster of the settings.
    life: Option<Life>,
}

impl Server {
    /// Starts a server: with its store, or as a member of a cluster that serves no range yet.
    pub(crate) fn launch(
        environment: Environment,
        settings: Settings,
        member: Option<MemberParts>,
    ) -> BoxFuture<'static, Result<Server, Error>> {
        Box::pin(async move {
            let (clock, network) = (Arc::clone(&environment.clock), &*environment.network);
            let (settings, metrics) = (Arc::new(settings), Arc::new(Metrics::default()));
            let (requests, background) = (Tasks::new(), Tasks::new());
            let listeners = Listeners::bind(network, &settings).await?;
            let status = Arc::new(ServerStatus::new(
                Arc::clone(&settings),
                Arc::clone(&metrics),
                listeners.addresses(),
                Arc::clone(&clock),
                requests.shutdown(),
            ));
            if let Some((listener, _)) = listeners.admin {
                let serving = admin::serve(listener, Arc::clone(&status), background.clone());
                background.spawn("admin port", serving);
            }

            let loaded = tls::load(&settings, &*clock)?;
            let opening = Arc::new(Opening {
                settings: Arc::clone(&settings),
                environment: environment.clone(),
                memory: MemoryBudget::new(settings.limits.memory_in_flight),
                status: Arc::clone(&status),
                tasks: Tasks::new(),
            });
            let membership = member.as_ref().map(|member| join(member, &status, &clock));
            let (tables, queues) = opening.begin(membership.as_ref()).await?;
            let (tls, authority) = loaded
                .map(|loaded| (loaded.config, loaded.authority))
                .unzip();
            let parts = Arc::new(FrontParts {
                accounts: accounts(&settings.accounts)?,
                bearer: bearer_rules(&settings.oauth)?,
                authorization_uri: authorization_uri(&settings.oauth),
                limits: settings.limits.clone(),
                memory: Arc::clone(&opening.memory),
                tls,
                connections: Connections::watch(&settings.limits, &requests),
                metrics,
                clock,
                membership: membership.clone(),
            });
            let ports = (listeners.table, listeners.queue);
            let (tables, queues) =
                open_ports(&parts, &settings, (tables, queues), ports, &requests)?;
            let peers = Tasks::new();
            if let (Some(member), Some(membership)) = (member, &membership) {
                let receiver =
                    Receiver::new(Arc::clone(membership), tables, queues, Arc::clone(&status));
                let (listener, receiver) = (member.listener, Arc::new(receiver));
                let serving = member.acceptor.run(listener, receiver, peers.clone());
                peers.spawn("peer port", serving);
            }
            Ok(Server {
                status,
                authority: authority.flatten(),
                requests,
                peers,
                background,
                opening,
                membership,
                life: None,
            })
        })
    }

    /// Health and parts of the server.
    pub fn status(&self) -> &Arc<ServerStatus> {
        &self.status
    }

    /// The addresses it listens on.
    pub fn listening(&self) -> Listening {
        self.status.listening
    }

    /// The authority certificate that clients have to trust; with `--tls dev` only.
    pub fn authority(&self) -> Option<&PathBuf> {
        self.authority.as_ref()
    }

    /// Completes when this server has lost the object store to another one, and says why. Then the caller stops it: only
    /// a new process can open the store again. Never completes if the data is in a directory or in memory. Cancel safe.
    pub fn fenced(&self) -> BoxFuture<'_, Arc<str>> {
        match &self.life {
            Some(life) => Box::pin(life.ended()),
            None => self.opening.fenced(),
        }
    }

    /// Has this life in the cluster from now on.
    pub(crate) fn lives(&mut self, life: Life) {
        self.life = Some(life);
    }

    /// Stops the server: refuses new requests, gives running ones the drain timeout, then closes the data. Returns the
    /// names of tasks that did not end in time; even then no acknowledged write is lost.
    pub fn stop(self) -> BoxFuture<'static, Vec<&'static str>> {
        Box::pin(async move {
            let timeout = self.status.settings.limits.drain_timeout;
            if let Some(life) = &self.life {
                life.hand_over(timeout).await;
            }
            let draining = (self.requests.drain(timeout), self.peers.drain(timeout));
            let (mut late, of_peers) = futures::future::join(draining.0, draining.1).await;
            late.extend(of_peers);
            late.extend(self.background.drain(BACKGROUND_DRAIN).await);
            late.extend(self.opening.close().await);
            if let Some(life) = &self.life {
                late.extend(life.leave(BACKGROUND_DRAIN).await);
            }
            if !late.is_empty() {
                tracing::warn!(tasks = ?late, "tasks did not end in time");
            }
            late
        })
    }
}

/// The part of a server in its cluster.
fn join(member: &MemberParts, status: &ServerStatus, clock: &Arc<dyn Clock>) -> Arc<Membership> {
    let (metrics, clock) = (Arc::clone(&status.metrics), Arc::clone(clock));
    let (routing, gate) = (Arc::clone(&member.routing), Arc::clone(&member.gate));
    let membership = Membership::new(routing, gate, metrics, clock);
    let membership = Arc::new(membership);
    status.joined(Arc::clone(&membership));
    membership
}

/// Begins to serve the ports of tables and queues. Without them, other servers may have some.
fn open_ports(
    parts: &Arc<FrontParts>,
    settings: &Settings,
    (tables, queues): (Option<Arc<Service>>, Option<Arc<partita_queue::Service>>),
    (table_port, queue_port): (Option<Bound>, Option<Bound>),
    requests: &Tasks,
) -> Result<(Arc<TableFront>, Arc<QueueFront>), InvalidSetting> {
    let tables = Arc::new(TableFront::new(front(parts, &settings.table)?, tables));
    if let Some((listener, _)) = table_port {
        let serving = Arc::clone(&tables).listen(listener, requests.clone());
        requests.spawn("table port", serving);
    }
    let queue = settings.queue.as_ref().unwrap_or(&settings.table);
    let queues = QueueFront::new(front(parts, queue)?, queues, requests.shutdown());
    let queues = Arc::new(queues);
    if let Some((listener, _)) = queue_port {
        let serving = Arc::clone(&queues).listen(listener, requests.clone());
        requests.spawn("queue port", serving);
    }
    Ok((tables, queues))
}

/// The services of an open store.
#[derive(Debug)]
pub struct Services {
    pub(crate) tables: Arc<Service>,
    pub(crate) queues: Arc<partita_queue::Service>,
}

impl Services {
    fn into_parts(self) -> (Option<Arc<Service>>, Option<Arc<partita_queue::Service>>) {
        (Some(self.tables), Some(self.queues))
    }
}

/// What opening the store needs.
#[derive(Debug)]
pub(crate) struct Opening {
    settings: Arc<Settings>,
    environment: Environment,
    memory: Arc<MemoryBudget>,
    status: Arc<ServerStatus>,
    /// The background tasks of the open store.
    tasks: Tasks,
}

impl Opening {
    /// Opens the store. A member of a cluster gets its services from its membership.
    async fn begin(
        &self,
        membership: Option<&Arc<Membership>>,
    ) -> Result<(Option<Arc<Service>>, Option<Arc<partita_queue::Service>>), Error> {
        let Some(membership) = membership else {
            return self.open().await.map(Services::into_parts);
        };
        let services = self.join(membership).await?;
        membership.serve(services.tables, services.queues);
        Ok((None, None))
    }

    /// Opens the store, and starts its services and their background tasks.
    async fn open(&self) -> Result<Services, Error> {
        let store = &self.settings.store;
        let opening = OpenRanges::open(store, &self.environment, self.tasks.clone());
        let ranges = opening.await?;
        let storage = self.storage(&ranges.cluster, self.targets().map(Arc::new));
        let storage = storage.with_timestamps_after(ranges.cluster.engines().newest_row_time());
        Ok(self.serve(ranges, Arc::new(storage)))
    }

    /// Opens the store as one of several processes, without a range, and starts the services.
    async fn join(&self, membership: &Arc<Membership>) -> Result<Services, Error> {
        let far = Arc::new(PeerRows::new(Arc::clone(membership)));
        let own: Arc<OnceLock<OwnStorage>> = Arc::default();
        let (gate, before) = (Arc::clone(membership.gate()), Arc::clone(&own));
        let of_cluster = Arc::clone(membership);
        let count_servers =
            Arc::new(move |scope: &TargetScope| of_cluster.routing().owner_count(scope));
        let targets = self.targets();
        let targets = targets.map(|targets| Arc::new(targets.in_cluster(count_servers)));
        let shared = SharedParts {
            is_lease_valid: Arc::new(move || gate.is_open()),
            before_serving: Arc::new(move |range| before_serving(&before, range)),
            targets: targets
                .clone()
                .map(|targets| targets as Arc<dyn TargetLoad>),
        };
        let (store, tasks) = (&self.settings.store, self.tasks.clone());
        let ranges = OpenRanges::join(store, &self.environment, tasks, shared).await?;
        let rows = Arc::clone(&far) as Arc<dyn FarRows>;
        let storage = self.storage(&ranges.cluster, targets).with_far_rows(rows);
        let storage = Arc::new(storage);
        far.set_own(&storage);
        let engines = Arc::clone(ranges.cluster.engines());
        own.get_or_init(|| (engines, Arc::downgrade(&storage)));
        Ok(self.serve(ranges, storage))
    }

    /// Starts the services over open data.
    fn serve(&self, ranges: OpenRanges, storage: Arc<Storage>) -> Services {
        let (settings, tasks) = (&*self.settings, &self.tasks);
        start_scrub(&self.status, &ranges, &self.environment.clock, tasks);
        freed_memory::release_regularly(&storage.memory, tasks);
        let (limits, targets) = (service_settings(&settings.limits), settings.targets.clone());
        let tables = Arc::new(Service::new(Arc::clone(&storage), limits, targets));
        tables.start(tasks);
        // Also without a queue port: its background tasks return the space of deleted queues.
        let queues = queue_service(storage, settings, tasks);
        self.status.opened(OpenStore {
            cluster: ranges.cluster,
            snapshots: ranges.snapshots,
            remote: ranges.remote,
            last_names: LastNames::default(),
            service: Arc::clone(&tables),
            queues: Arc::clone(&queues),
        });
        Services { tables, queues }
    }

    /// The storage that all services share.
    fn storage(&self, cluster: &Cluster, targets: Option<Arc<Targets>>) -> Storage {
        let clock = Arc::clone(&self.environment.clock);
        warn_of_lag(cluster.engines().wall_clock_lag());
        let storage = Storage::new(Arc::clone(cluster.map()), clock);
        let storage = storage.with_memory(Arc::clone(&self.memory));
        match targets {
            Some(targets) => storage.with_shared_targets(targets),
            None => storage,
        }
    }

    /// The targets of the settings, if there are any.
    fn targets(&self) -> Option<Targets> {
        let settings = &self.settings;
        let is_off = settings.targets.is_off() && settings.queue_targets.queue.is_unlimited();
        let now = self.environment.clock.monotonic();
        (!is_off).then(|| Targets::new(settings.targets.account, now))
    }

    /// The ranges, once the store is open.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.status.cluster()
    }

    /// The log of this process, if other processes use the store at the same time.
    pub(crate) fn log(&self) -> Option<LogNumber> {
        self.cluster()?.engines().log()
    }

    /// Completes when another server has taken over the open store, and says which. Cancel safe.
    pub(crate) fn fenced(&self) -> BoxFuture<'_, Arc<str>> {
        match self.status.cluster() {
            Some(cluster) => cluster.engines().fenced(),
            None => Box::pin(std::future::pending()),
        }
    }

    /// Ends the background tasks and closes the store, if it is open. Returns the names of tasks that did not end in
    /// time.
    pub(crate) async fn close(&self) -> Vec<&'static str> {
        let late = self.tasks.drain(BACKGROUND_DRAIN).await;
        if let Some(cluster) = self.status.cluster() {
            cluster.close().await;
        }
        late
    }
}

/// The databases and the storage of this process, once they are open.
type OwnStorage = (Arc<dyn EngineSet>, Weak<Storage>);

/// Prepares the services for a range that was taken over: its rows may be later than those of this process, and the
/// server that had the catalog may have lent its rows.
fn before_serving(own: &OnceLock<OwnStorage>, range: &RangeSpec) {
    let Some((engines, storage)) = own.get() else {
        return;
    };
    let Some(storage) = storage.upgrade() else {
        return;
    };
    storage.timestamps.pass(engines.newest_row_time());
    if range.bounds.start.is_empty() {
        storage.catalog_taken_over();
    }
}

/// Searches for damaged files in the background.
fn start_scrub(
    status: &ServerStatus,
    ranges: &OpenRanges,
    clock: &Arc<dyn Clock>,
    background: &Tasks,
) {
    let scrubber = Scrubber {
        scrub: Arc::clone(&status.scrub),
        cluster: Arc::clone(&ranges.cluster),
        objects: ranges.objects.clone(),
        clock: Arc::clone(clock),
    };
    background.spawn("scrub", scrubber.run(background.shutdown()));
}

fn warn_of_lag(lag: Duration) {
    if !lag.is_zero() {
        tracing::warn!(
            seconds = lag.as_secs(),
            "the wall clock is behind the newest stored row: new Timestamps continue after that row; \
             check the machine's clock"
        );
    }
}

/// The Queue service, with its background tasks.
fn queue_service(
    storage: Arc<Storage>,
    settings: &Settings,
    background: &Tasks,
) -> Arc<partita_queue::Service> {
    let limits = partita_queue::ServiceSettings {
        drop_grace: drop_grace(&settings.limits),
    };
    let targets = settings.queue_targets;
    let service = partita_queue::Service::new(storage, limits, targets, background.clone());
    let service = Arc::new(service);
    service.start(background);
    service
}

/// Longer than any request, including its body and its answer.
fn drop_grace(limits: &Limits) -> Duration {
    limits.request_timeout + 2 * limits.stall_timeout + DROP_GRACE_SPARE
}

fn service_settings(limits: &Limits) -> ServiceSettings {
    ServiceSettings {
        drop_grace: drop_grace(limits),
        transactions_max: limits.batches_max,
        ..ServiceSettings::default()
    }
}

/// The rules for bearer tokens. Blocking: reads a small file.
fn bearer_rules(oauth: &Oauth) -> Result<Option<BearerRules>, Error> {
    let (issuer, audiences, path) = match oauth {
        Oauth::Off => return Ok(None),
        Oauth::Basic => return Ok(Some(BearerRules::basic())),
        Oauth::Verified {
            issuer,
            audiences,
            jwks,
        } => (issuer.clone(), audiences.clone(), jwks),
    };
    let read = || Ok(Jwks::parse(&std::fs::read(path)?)?);
    let keys = read().map_err(|source| Error::Jwks {
        path: path.clone(),
        source,
    })?;
    Ok(Some(BearerRules::verified(issuer, audiences, keys)))
}

/// The URL in the challenge, where clients get a token: the URL of the issuer, or the URL that Azurite sends.
fn authorization_uri(oauth: &Oauth) -> String {
    match oauth {
        Oauth::Verified { issuer, .. } => {
            format!("{}/oauth2/authorize", issuer.trim_end_matches('/'))
        }
        Oauth::Off | Oauth::Basic => {
            "https://login.microsoftonline.com/common/oauth2/authorize".to_owned()
        }
    }
}

/// The front of a protocol behind its listener.
fn front(parts: &Arc<FrontParts>, listener: &ServiceListener) -> Result<Front, InvalidSetting> {
    let suffixes = listener.host_suffixes.iter().cloned();
    let hosts = Hosts::new(suffixes, listener.product_style_url);
    Front::new(Arc::clone(parts), hosts, listener.keep_alive)
}

/// A port that is bound, and its address.
pub(crate) type Bound = (Box<dyn Listener>, SocketAddr);

/// The ports of a server.
struct Listeners {
    /// `None` for a server of a cluster that is not a front.
    table: Option<Bound>,
    queue: Option<Bound>,
    admin: Option<Bound>,
}

impl Listeners {
    async fn bind(network: &dyn Network, settings: &Settings) -> Result<Self, Error> {
        let is_front = settings.is_front();
        let (table, queue) = (Some(&settings.table), settings.queue.as_ref());
        let table = table.filter(|_| is_front);
        let (queue, admin) = (queue.filter(|_| is_front), &settings.admin);
        Ok(Self {
            table: match table {
                Some(table) => Some(bind(network, &table.host, table.port, "table-port").await?),
                None => None,
            },
            queue: match queue {
                Some(queue) => Some(bind(network, &queue.host, queue.port, "queue-port").await?),
                None => None,
            },
            admin: match admin.port {
                Some(port) => Some(bind_admin(network, admin, port).await?),
                None => None,
            },
        })
    }

    fn addresses(&self) -> Listening {
        let address = |bound: &Option<Bound>| bound.as_ref().map(|(_, address)| *address);
        Listening {
            table: address(&self.table),
            queue: address(&self.queue),
            admin: address(&self.admin),
        }
    }
}

/// Binds the admin port. If it is the default and another server has it, binds a free port: several servers on one
/// machine are usual, and clients need only the ports of the services.
async fn bind_admin(
    network: &dyn Network,
    admin: &AdminListener,
    port: u16,
) -> Result<Bound, Error> {
    let bound = bind(network, &admin.host, port, "admin-port").await;
    match bound {
        Err(Error::Bind { source, .. })
            if admin.or_free && source.kind() == std::io::ErrorKind::AddrInUse =>
        {
            bind(network, &admin.host, 0, "admin-port").await
        }
        bound => bound,
    }
}

pub(crate) async fn bind(
    network: &dyn Network,
    host: &str,
    port: u16,
    flag: &'static str,
) -> Result<Bound, Error> {
    let bound = async {
        let listener = network.listen(host, port).await?;
        let address = listener.address()?;
        Ok((listener, address))
    };
    let host = host.to_owned();
    bound.await.map_err(|source| Error::Bind {
        host,
        port,
        flag,
        source,
    })
}
