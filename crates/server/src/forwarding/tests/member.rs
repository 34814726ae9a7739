//! A server of the cluster under test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use partita_cluster::{LocalHost, MapRecord};
use partita_peer::forward::{RangeId, ServiceId, Tenure};
use partita_peer::{Address, ClusterKey, Identity, Peers, ServerName, Settings};
use partita_rt::net::{MachineNetwork, Network};
use partita_rt::{SystemClock, Tasks};
use tokio::sync::watch;

use crate::config::tests::from_flags;
use crate::environment::Environment;
use crate::forwarding::{AnswerGate, Owner, OwnerAddress, Place, Routing};
use crate::metrics::ForwardOutcome;
use crate::{MemberParts, Server};

/// The id of the cluster.
pub(super) const CLUSTER: &str = "c1";

pub(super) const RANGE: RangeId = RangeId(1);

/// What a map says about the only range.
#[derive(Clone, Debug, Default)]
struct Entry {
    tenure: u64,
    owner: Option<MapOwner>,
}

#[derive(Clone, Debug)]
struct MapOwner {
    name: ServerName,
    address: Address,
    tables: SocketAddr,
    queues: SocketAddr,
}

/// A map that the test changes. Servers that share one agree; a server with its own is behind or ahead.
#[derive(Debug, Default)]
pub(super) struct Map(watch::Sender<Entry>);

impl Map {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(super) fn set_owner(&self, tenure: u64, member: &Member) {
        let owner = Some(MapOwner {
            name: member.name.clone(),
            address: member.address.clone(),
            tables: member.tables(),
            queues: member.queues(),
        });
        self.0.send_replace(Entry { tenure, owner });
    }

    pub(super) fn set_unserved(&self, tenure: u64) {
        let owner = None;
        self.0.send_replace(Entry { tenure, owner });
    }
}

#[derive(Debug)]
struct MapRouting {
    map: Arc<Map>,
    name: ServerName,
    peers: Peers,
}

impl Routing for MapRouting {
    fn place(&self, _: &[u8]) -> Place {
        let entry = self.map.0.borrow().clone();
        let owner = match entry.owner {
            None => Owner::Unserved,
            Some(owner) if owner.name == self.name => Owner::Here,
            Some(owner) => Owner::There(self.peers.peer(&owner.name, &owner.address).unwrap()),
        };
        Place {
            range: Some(RANGE),
            tenure: Tenure(entry.tenure),
            owner,
            end: None,
        }
    }

    fn newest(&self, _: RangeId) -> (Tenure, bool) {
        let entry = self.map.0.borrow();
        let owner = entry.owner.as_ref();
        let is_own = owner.is_some_and(|owner| owner.name == self.name);
        (Tenure(entry.tenure), is_own)
    }

    fn has_map(&self) -> bool {
        true
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut entries = self.map.0.subscribe();
        Box::pin(async move {
            entries.changed().await.unwrap();
        })
    }

    fn cluster(&self) -> Option<Arc<str>> {
        Some(CLUSTER.into())
    }

    fn address(&self, _: &[u8], service: ServiceId) -> Option<OwnerAddress> {
        let owner = self.map.0.borrow().owner.clone()?;
        let address = match service {
            ServiceId::Table => owner.tables,
            ServiceId::Queue => owner.queues,
        };
        Some(OwnerAddress {
            url: format!("http://{address}"),
            start: Vec::new(),
            end: None,
        })
    }
}

/// The state of a lease, which the test decides instead of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lease {
    Valid,
    /// It may be renewed: answers wait.
    Late,
    /// It was not renewed in time.
    Lost,
}

#[derive(Debug)]
pub(super) struct TestGate {
    pub(super) lease: watch::Sender<Lease>,
    /// How many answers have come to wait.
    pub(super) waited: watch::Sender<usize>,
}

impl AnswerGate for TestGate {
    fn is_open(&self) -> bool {
        *self.lease.borrow() == Lease::Valid
    }

    fn opened(&self, _: Duration) -> BoxFuture<'_, bool> {
        let mut lease = self.lease.subscribe();
        self.waited.send_modify(|waited| *waited += 1);
        Box::pin(async move {
            let decided = lease.wait_for(|lease| *lease != Lease::Late).await;
            *decided.unwrap() == Lease::Valid
        })
    }

    fn open_for(&self) -> Duration {
        Duration::ZERO
    }
}

impl TestGate {
    /// Waits until this many answers wait, or have waited.
    pub(super) async fn until_waited(&self, answers: usize) {
        let mut waited = self.waited.subscribe();
        waited.wait_for(|waited| *waited >= answers).await.unwrap();
    }
}

/// A server of the cluster.
pub(super) struct Member {
    pub(super) server: Server,
    pub(super) gate: Arc<TestGate>,
    name: ServerName,
    address: Address,
    /// Its connections to other servers.
    links: Tasks,
}

/// The text of a new cluster key.
pub(super) fn new_key() -> String {
    ClusterKey::create().unwrap().text()
}

impl Member {
    /// Starts a server with an empty store in memory. It serves nothing yet.
    pub(super) async fn start(key: &str, name: &str, map: &Arc<Map>) -> Self {
        let name = ServerName::new(name).unwrap();
        let key = ClusterKey::parse(key.as_bytes()).unwrap();
        let identity = Identity::issue(key, name.clone(), Arc::new(SystemClock)).unwrap();
        let patience = Duration::from_secs(60);
        let settings = Settings {
            connect_timeout: patience,
            ping_timeout: patience,
            server_ping: patience,
            ..Settings::default()
        };
        let network: Arc<dyn Network> = Arc::new(MachineNetwork);
        let listener = network.listen("127.0.0.1", 0).await.unwrap();
        let address = listener.address().unwrap().to_string().parse().unwrap();
        let acceptor = partita_peer::Server::new(&identity, settings.clone()).unwrap();
        let links = Tasks::new();
        let peers = Peers::new(identity, network, settings, links.clone());
        let routing = MapRouting {
            map: Arc::clone(map),
            name: name.clone(),
            peers,
        };
        let gate = Arc::new(TestGate {
            lease: watch::Sender::new(Lease::Valid),
            waited: watch::Sender::default(),
        });
        let parts = MemberParts {
            routing: Arc::new(routing),
            gate: Arc::clone(&gate) as Arc<dyn AnswerGate>,
            acceptor,
            listener,
        };
        let flags = [
            ("in-memory", "true"),
            ("table-port", "0"),
            ("admin-port", "0"),
        ];
        let started = Server::start_member(Environment::default(), from_flags(&flags), parts);
        Self {
            server: started.await.unwrap(),
            gate,
            name,
            address,
            links,
        }
    }

    /// Takes over the only range. The map does not know it yet.
    pub(super) async fn host(&self, tenure: u64) {
        let spec = MapRecord::first().specs().next().unwrap();
        let activation = async { Ok(tenure) };
        let is_assigned = std::future::ready(true);
        let taken_over = self.ranges().take_over(&spec, &[], is_assigned, activation);
        taken_over.await.unwrap();
    }

    /// Hands the range over. Its rows stay here, so that it can be taken over again, as another server would that has the
    /// same store.
    pub(super) async fn pause(&self) {
        let range = partita_range::RangeId(RANGE.0);
        self.ranges().hand_over(range).await.unwrap();
    }

    fn ranges(&self) -> &LocalHost {
        self.server.status().cluster().unwrap().local_host()
    }

    pub(super) fn tables(&self) -> SocketAddr {
        self.server.listening().table.unwrap()
    }

    pub(super) fn queues(&self) -> SocketAddr {
        self.server.listening().queue.unwrap()
    }

    /// How many requests were forwarded or held with this outcome.
    pub(super) fn outcomes(&self, outcome: ForwardOutcome) -> u64 {
        let reading = self.server.status().metrics.read();
        reading.forwarding.outcomes[outcome as usize]
    }

    /// Waits until it holds this many requests.
    pub(super) async fn until_held(&self, requests: usize) {
        self.until(|reading| reading.forwarding.held == requests)
            .await;
    }

    /// Waits until this many requests of other servers are under way.
    pub(super) async fn until_for_peers(&self, requests: i64) {
        self.until(|reading| reading.forwarding.for_peers == requests)
            .await;
    }

    async fn until(&self, is_reached: impl Fn(&crate::metrics::Reading) -> bool) {
        let reached = async {
            while !is_reached(&self.server.status().metrics.read()) {
                tokio::task::yield_now().await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_secs(60), reached);
        reached.await.expect("the state is not reached");
    }

    pub(super) async fn stop(self) {
        let late = self.server.stop().await;
        assert!(late.is_empty(), "{late:?}");
        let late = self.links.drain(Duration::from_secs(60)).await;
        assert!(late.is_empty(), "{late:?}");
    }
}

/// A front without data, and the server that has it, in tenure 1.
pub(super) async fn front_and_owner() -> (Arc<Map>, Member, Member) {
    let (key, map) = (new_key(), Map::new());
    let front = Member::start(&key, "front", &map).await;
    let owner = Member::start(&key, "owner", &map).await;
    owner.host(1).await;
    map.set_owner(1, &owner);
    (map, front, owner)
}
