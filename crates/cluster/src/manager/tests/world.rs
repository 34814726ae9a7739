//! Three servers with a range each, in one process, over databases that they share. The first is the manager.

use crate::cluster::{Cluster, ClusterParts, SharedParts};
use crate::coordinator::shapes;
use crate::host::Host;
use crate::manager::hosts::Hosts;
use crate::manager::placement::Placement as ChosenServers;
use crate::manager::{HostLink, LinkError, Manager, ManagerParts};
use crate::map::{Epoch, MapStore, RangeSpec};
use crate::member::RangeServer;
use crate::member::messages::HostRequest;
use crate::placement::PlacementSettings;
use crate::targets::{TargetDemand, TargetLoad, TargetShare};
use crate::test_world::{Disk, partition};
use crate::version_store::VersionStore;
use async_trait::async_trait;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use parking_lot::Mutex;
use partita_coordinator::{
    Election, LogNumber, Member, MemberParts, MemoryRegistry, Placement, Routes, Seen, ServerInfo,
    StateDir, Term, TermError,
};
use partita_engine::EngineSet;
use partita_range::{Bounds, RangeId};
use partita_rt::{Clock, Tasks, TokioClock};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The ranges: the first server has the first one, and so on.
pub(super) const RANGES: [RangeId; 3] = [RangeId(1), RangeId(2), RangeId(3)];

/// The TTL of the leases.
const TTL: Duration = Duration::from_secs(2);

/// Longer than any wait in a test.
const LONG: Duration = Duration::from_secs(3600);

/// What becomes of a request on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is answered.
    Answered,
    /// It does not arrive.
    Lost,
    /// It is executed, and the answer is lost.
    AnswerLost,
    /// It arrives after this time.
    Late(Duration),
    /// It is executed at once, and the answer arrives after this time.
    AnsweredLate(Duration),
}

/// Decides about each request to a server other than the first.
pub(super) type Chooser =
    Box<dyn Fn(String, HostRequest) -> BoxFuture<'static, Fate> + Send + Sync>;

/// The connections between the servers.
#[derive(Default)]
pub(super) struct Link {
    servers: Mutex<BTreeMap<String, Arc<RangeServer>>>,
    choose: Mutex<Option<Arc<Chooser>>>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

#[async_trait]
impl HostLink for Link {
    async fn ask(&self, server: &str, request: Vec<u8>) -> Result<Vec<u8>, LinkError> {
        let parsed = serde_json::from_slice(&request).unwrap();
        let choose = self.choose.lock().clone();
        let fate = match choose {
            Some(choose) => choose(server.to_owned(), parsed).await,
            None => Fate::Answered,
        };
        let lost = || LinkError::Unknown("the connection is broken".to_owned());
        match fate {
            Fate::Lost => return Err(lost()),
            Fate::Late(time) => tokio::time::sleep(time).await,
            Fate::Answered | Fate::AnswerLost | Fate::AnsweredLate(_) => {}
        }
        let found = self.servers.lock()[server].clone();
        let answer = found.answer(&request).await;
        match fate {
            Fate::AnswerLost => return Err(lost()),
            Fate::AnsweredLate(time) => tokio::time::sleep(time).await,
            Fate::Answered | Fate::Lost | Fate::Late(_) => {}
        }
        Ok(answer)
    }
}

/// The servers.
pub(super) struct World {
    pub(super) disk: Disk,
    pub(super) hosts: Arc<Hosts>,
    pub(super) servers: Vec<Server>,
    link: Arc<Link>,
    pub(super) routes: Routes,
    term: Term,
    _directory: TempDir,
}

/// The targets of a server.
#[derive(Debug, Default)]
pub(super) struct TestTargets {
    /// What was asked of them.
    pub(super) asked: Mutex<Vec<TargetDemand>>,
    /// The last shares, sorted; `None` before the first ones.
    pub(super) shares: Mutex<Option<Vec<TargetShare>>>,
}

impl TargetLoad for TestTargets {
    fn demands(&self, _now: Instant) -> Vec<TargetDemand> {
        self.asked.lock().clone()
    }

    fn set_shares(&self, _now: Instant, shares: &[TargetShare]) {
        let mut shares = shares.to_vec();
        shares.sort_by(|one, other| one.scope.cmp(&other.scope));
        *self.shares.lock() = Some(shares);
    }
}

/// A server.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) ranges: Arc<RangeServer>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) targets: Arc<TestTargets>,
    member: Arc<Member>,
}

impl World {
    /// Starts the servers, and waits until each serves its range.
    pub(super) async fn start() -> Arc<Self> {
        let world = Self::without_ranges().await;
        for (at, range) in RANGES.iter().enumerate() {
            world.assign(*range, at).await;
        }
        Arc::new(world)
    }

    /// Starts the servers.
    pub(super) async fn without_ranges() -> Self {
        let (disk, directory) = (Disk::default(), tempfile::tempdir().unwrap());
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::with_rate(1.0));
        let registry = Arc::new(MemoryRegistry::new(Arc::clone(&clock)));
        let routes = Routes::follow(registry.clone(), &Tasks::new());
        let (link, mut servers) = (Arc::new(Link::default()), Vec::new());
        for number in 1..=3 {
            let tasks = Tasks::new();
            let name = format!("server-{number}");
            let member = Member::join(MemberParts {
                registry: registry.clone(),
                clock: Arc::clone(&clock),
                tasks: tasks.clone(),
                name: name.clone(),
                info: ServerInfo {
                    log: Some(LogNumber(number)),
                    ..ServerInfo::default()
                },
                ttl: TTL,
                state_dir: StateDir::open(directory.path().join(&name)).unwrap(),
            });
            let member = Arc::new(member.await.unwrap());
            let targets = Arc::new(TestTargets::default());
            let shared = SharedParts {
                is_lease_valid: Arc::new(|| true),
                before_serving: Arc::new(|_| {}),
                targets: Some(Arc::clone(&targets) as Arc<dyn TargetLoad>),
            };
            let cluster = Cluster::join(parts(&disk, &clock), shared);
            let (of_server, of_member) = (Arc::clone(&cluster), Arc::clone(&member));
            let ranges = RangeServer::start(of_server, of_member, routes.clone(), &tasks);
            link.servers.lock().insert(name, Arc::clone(&ranges));
            servers.push(Server {
                ranges,
                cluster,
                targets,
                member,
            });
        }
        let Ok(Election::Elected(term)) = servers[0].member.stand().await else {
            panic!("no other server stands");
        };
        let own = Arc::clone(&servers[0].ranges);
        let clock = Arc::new(TokioClock::with_rate(1.0));
        let placement = ChosenServers::new(PlacementSettings::default(), clock);
        let hosts = Hosts::new(
            "server-1".to_owned(),
            own,
            routes.clone(),
            link.clone(),
            Arc::new(placement),
        );
        Self {
            disk,
            hosts: Arc::new(hosts),
            servers,
            link,
            routes,
            term,
            _directory: directory,
        }
    }

    /// A manager of the first server, in a new term.
    pub(super) async fn manager(&self) -> Arc<Manager> {
        let Server { ranges, member, .. } = &self.servers[0];
        self.term.end().await.unwrap();
        let Ok(Election::Elected(term)) = member.stand().await else {
            panic!("no other server stands");
        };
        let parts = ManagerParts {
            server: Arc::clone(ranges),
            member: Arc::clone(member),
            routes: self.routes.clone(),
            link: Arc::clone(&self.link) as Arc<dyn HostLink>,
            clock: Arc::new(TokioClock::with_rate(1.0)),
            versions: VersionStore::new(Arc::clone(&self.disk.objects) as Arc<dyn ObjectStore>),
            finalize_after: LONG,
        };
        Manager::new(parts, term)
    }

    /// Assigns a range that is new or released to a server, and waits until it is served.
    pub(super) async fn assign(&self, range: RangeId, server: usize) {
        self.assign_to(&spec(range), server).await;
    }

    /// As [`Self::assign`], for a range with these keys.
    pub(super) async fn assign_to(&self, spec: &RangeSpec, server: usize) {
        let (id, owner) = (
            shapes::id(spec.id),
            self.servers[server].member.owner().clone(),
        );
        let table = self.term.table().await.unwrap();
        let seen = match table.ranges().get(&id) {
            Some(stored) => Seen::Key(stored.clone()),
            None => Seen::Absent {
                shape: shapes::shape(spec),
                logs: Vec::new(),
            },
        };
        let placement = Placement {
            range: id,
            seen,
            to: owner.clone(),
        };
        // A range without a key is assigned only when all earlier leases are over.
        while let Err(error) = self.term.assign(std::slice::from_ref(&placement)).await {
            let TermError::TooEarly(_, rest) = error else {
                panic!("{error}");
            };
            tokio::time::sleep(rest).await;
        }
        let is_served = |table: &partita_coordinator::Table| {
            let key = table.ranges().get(&id);
            key.is_some_and(|key| key.record.is_served_by(&owner.name))
        };
        self.routes.wait_for(LONG, is_served).await.unwrap();
    }

    /// Ends the lease of a server, and waits until the routes show it.
    pub(super) async fn leave(&self, server: usize) {
        let member = &self.servers[server].member;
        member.close().await.unwrap();
        let owner = member.owner();
        let is_gone = |table: &partita_coordinator::Table| !table.is_alive(&owner.name, owner.life);
        self.routes.wait_for(LONG, is_gone).await.unwrap();
    }

    /// Sets what becomes of requests to the second and third server from now on.
    pub(super) fn choose(
        &self,
        choose: impl Fn(String, HostRequest) -> BoxFuture<'static, Fate> + Send + Sync + 'static,
    ) {
        *self.link.choose.lock() = Some(Arc::new(Box::new(choose)));
    }

    /// The pins of all ranges.
    pub(super) async fn pin_count(&self) -> usize {
        crate::test_world::pin_count(&*self.disk.engines).await
    }

    /// Pins all ranges.
    pub(super) async fn pin(&self) -> Result<partita_engine::Pinned, partita_engine::ChangeError> {
        self.hosts.pin(&RANGES).await
    }
}

/// The keys of a range: those of ten partitions, except that the first range begins at the empty key, and the last ends
/// nowhere.
fn spec(range: RangeId) -> RangeSpec {
    let number = u32::try_from(range.0).unwrap();
    RangeSpec {
        id: range,
        epoch: Epoch(1),
        bounds: Bounds {
            start: match number {
                1 => bytes::Bytes::new(),
                _ => partition(10 * number),
            },
            end: (number < 3).then(|| partition(10 * number + 10)),
        },
    }
}

/// The first row of a range that has the number `row`, below ten.
pub(super) fn row(range: RangeId, row: u32) -> u32 {
    10 * u32::try_from(range.0).unwrap() + row
}

fn parts(disk: &Disk, clock: &Arc<dyn Clock>) -> ClusterParts {
    ClusterParts {
        engines: Arc::clone(&disk.engines) as Arc<dyn EngineSet>,
        map: Arc::clone(&disk.map) as Arc<dyn MapStore>,
        clock: Arc::clone(clock),
        ..disk.parts()
    }
}
