//! Routes from the keys of the coordinator.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use partita_coordinator::registry::{LeaseId, Operation, Outcome, Registry, Transaction};
use partita_coordinator::{MemoryRegistry, Revision, Routes};
use partita_peer::forward::{RangeId, ServiceId, Tenure};
use partita_peer::{ClusterKey, Identity, Peers, ServerName, Settings};
use partita_rt::net::MachineNetwork;
use partita_rt::{ManualClock, Tasks};

use crate::forwarding::{Owner, OwnerAddress, RegistryRouting, Routing, Unowned};

const RANGE: RangeId = RangeId(7);

const KEY: &[u8] = b"k";

struct World {
    registry: Arc<MemoryRegistry>,
    routes: Routes,
    routing: RegistryRouting,
}

impl World {
    /// The routes of the server `a`.
    fn new(tasks: &Tasks) -> Self {
        let clock = Arc::new(ManualClock::new(SystemTime::UNIX_EPOCH));
        let registry = Arc::new(MemoryRegistry::new(clock.clone()));
        let routes = Routes::follow(registry.clone(), tasks);
        let name = ServerName::new("a").unwrap();
        let identity = Identity::issue(ClusterKey::create().unwrap(), name, clock).unwrap();
        let network = Arc::new(MachineNetwork);
        let peers = Peers::new(identity, network, Settings::default(), tasks.clone());
        let routing = RegistryRouting::new(routes.clone(), "a".to_owned(), peers);
        Self {
            registry,
            routes,
            routing,
        }
    }

    /// Writes a key, and waits until the routes have it.
    async fn put(&self, key: &str, value: String, lease: Option<LeaseId>) -> Revision {
        let transaction = Transaction {
            changes: vec![Operation::Put(key.to_owned(), value.into(), lease)],
            ..Transaction::default()
        };
        let outcome = self.registry.commit(transaction).await.unwrap();
        let Outcome::Committed(revision) = outcome else {
            panic!("refused without a condition");
        };
        let patience = Duration::from_secs(60);
        self.routes.reached(revision, patience).await.unwrap();
        revision
    }

    /// A server with an address for its peers, until its lease ends.
    async fn join(&self, name: &str, address: &str) -> LeaseId {
        let lease = self
            .registry
            .grant(Duration::from_secs(2))
            .await
            .unwrap()
            .lease;
        let value = format!(
            r#"{{"format":1,"life":"{:016x}","lease_ms":2000,"addresses":{{"peer":"{address}","table":"http://{name}:1"}},"version":"","speaks":{{}},"roles":[],"settings":"","draining":false}}"#,
            lease.0
        );
        self.put(&format!("servers/{name}"), value, Some(lease))
            .await;
        lease
    }

    /// Writes the key of the only range.
    async fn assign(&self, state: &str, name: &str, life: LeaseId) -> Revision {
        let value = format!(
            r#"{{"format":1,"epoch":1,"start":"","state":"{state}","owner":{{"name":"{name}","life":"{:016x}"}},"logs":[]}}"#,
            life.0
        );
        self.put("ranges/7", value, None).await
    }
}

#[tokio::test]
async fn a_key_is_at_the_living_server_that_serves_its_range() {
    let tasks = Tasks::new();
    let world = World::new(&tasks);
    let place = || world.routing.place(KEY);
    assert!(matches!(place().owner, Owner::Unserved));

    let here = world.join("a", "10.0.0.1:10011").await;
    let there = world.join("b", "10.0.0.2:10011").await;
    assert!(world.routing.has_map());
    let assigned = world.assign("opening", "b", there).await;
    assert!(matches!(place().owner, Owner::Unserved));
    assert_eq!(
        (place().range, place().tenure),
        (Some(RANGE), Tenure(assigned.0))
    );

    let changed = world.routing.changed();
    let served = world.assign("serving", "b", there).await;
    changed.await;
    match place().owner {
        Owner::There(peer) => {
            assert_eq!(peer.name().as_str(), "b");
            assert_eq!(peer.address().to_string(), "10.0.0.2:10011");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(world.routing.newest(RANGE), (Tenure(served.0), false));
    assert_eq!(world.routing.newest(RangeId(8)), (Tenure(0), false));
    // The key of the range remains when the lease of its server ends.
    let changed = world.routing.changed();
    world.registry.revoke(there).await.unwrap();
    changed.await;
    assert!(matches!(place().owner, Owner::Unserved));

    let served = world.assign("serving", "a", here).await;
    assert!(matches!(place().owner, Owner::Here));
    assert_eq!(world.routing.newest(RANGE), (Tenure(served.0), true));
    // The range of another life of this server.
    world.assign("serving", "a", there).await;
    assert!(matches!(place().owner, Owner::Unserved));
}

/// Clients are sent to a server that serves the range and lives, also to this one.
#[tokio::test]
async fn clients_are_told_the_url_of_the_owner() {
    let tasks = Tasks::new();
    let world = World::new(&tasks);
    let address = |service| world.routing.address(KEY, service);
    assert_eq!(world.routing.cluster(), None);
    let own = world.join("a", "10.0.0.1:10011").await;
    world.assign("opening", "a", own).await;
    assert_eq!(address(ServiceId::Table), None);
    world.assign("serving", "a", own).await;
    let expected = OwnerAddress {
        url: "http://a:1".to_owned(),
        start: Vec::new(),
        end: None,
    };
    assert_eq!(address(ServiceId::Table), Some(expected));
    // It has told no URL of its queues.
    assert_eq!(address(ServiceId::Queue), None);
    let changed = world.routing.changed();
    world.registry.revoke(own).await.unwrap();
    changed.await;
    assert_eq!(address(ServiceId::Table), None);
}

/// The time without a server begins when the map says so, and ends with the next server.
#[tokio::test]
async fn the_time_of_a_range_without_a_server_is_known() {
    let tasks = Tasks::new();
    let world = World::new(&tasks);
    let (unowned, began) = (Unowned::default(), Instant::now());
    let list = |seconds| {
        let now = began + Duration::from_secs(seconds);
        unowned.list(&world.routes.current(), now)
    };
    assert_eq!(list(0), []);
    let life = world.join("a", "10.0.0.1:10011").await;
    world.assign("opening", "a", life).await;
    assert_eq!(list(1), [(7, Duration::ZERO)]);
    assert_eq!(list(4), [(7, Duration::from_secs(3))]);
    world.assign("serving", "a", life).await;
    assert_eq!(list(5), []);
    let changed = world.routing.changed();
    world.registry.revoke(life).await.unwrap();
    changed.await;
    assert_eq!(list(6), [(7, Duration::ZERO)]);
}

#[tokio::test]
async fn a_server_without_an_address_is_not_asked() {
    let tasks = Tasks::new();
    let world = World::new(&tasks);
    let there = world.join("b", "nowhere").await;
    world.assign("serving", "b", there).await;
    assert!(matches!(world.routing.place(KEY).owner, Owner::Unserved));
}
