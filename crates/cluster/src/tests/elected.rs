//! Several processes over one store, of which the elected one serves all ranges.

use super::*;
use crate::{
    ClusterParts, Coordinator, CoordinatorError, ElectedCoordinator, MapRecord, StartError,
};
use partita_coordinator::{
    self as registry, Election, Member, MemberParts, MemoryRegistry, Owner, RangeState, Registry,
    ServerInfo, StateDir, Table,
};
use partita_rt::{Tasks, TokioClock};
use tempfile::TempDir;

const TTL: Duration = Duration::from_secs(2);

/// A store, a registry, and the state directories of the processes.
struct World {
    disk: Disk,
    registry: MemoryRegistry,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            disk: Disk::default(),
            registry: MemoryRegistry::new(Arc::new(TokioClock::with_rate(1.0))),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    async fn join(&self, name: &str) -> Arc<Member> {
        let member = Member::join(MemberParts {
            registry: Arc::new(self.registry.clone()),
            clock: Arc::new(TokioClock::with_rate(1.0)),
            tasks: Tasks::new(),
            name: name.to_owned(),
            info: ServerInfo::default(),
            ttl: TTL,
            state_dir: StateDir::open(self.folder.path().join(name)).unwrap(),
        });
        Arc::new(member.await.unwrap())
    }

    /// Opens the ranges as the elected manager.
    async fn open(&self, member: &Arc<Member>) -> Result<Arc<Cluster>, StartError> {
        let Election::Elected(term) = member.stand().await.unwrap() else {
            panic!("there is another manager");
        };
        self.open_in(ElectedCoordinator::new(Arc::clone(member), term))
            .await
    }

    async fn open_in(&self, coordinator: ElectedCoordinator) -> Result<Arc<Cluster>, StartError> {
        let parts = ClusterParts {
            coordinator: Arc::new(coordinator),
            ..self.disk.parts()
        };
        Cluster::open(parts).await
    }

    async fn table(&self) -> Table {
        Table::read(&self.registry).await.unwrap()
    }

    /// Waits until the registry lists these ranges, all served by `owner`.
    async fn lists(&self, ranges: &[RangeId], owner: &Owner) {
        let routes = registry::Routes::follow(Arc::new(self.registry.clone()), &Tasks::new());
        let is_listed = |table: &Table| {
            let keys: Vec<RangeId> = table.ranges().keys().map(|id| RangeId(id.0)).collect();
            keys == ranges && table.ranges().values().all(|key| serves(key, owner))
        };
        let listed = routes.wait_for(Duration::from_secs(60), is_listed).await;
        assert!(listed.is_some(), "{:?}", self.table().await.ranges());
    }
}

fn serves(key: &registry::Stored<registry::RangeRecord>, owner: &Owner) -> bool {
    matches!(&key.record.state, RangeState::Serving { owner: served_by, .. } if served_by == owner)
}

#[tokio::test(start_paused = true)]
async fn the_next_manager_serves_all_ranges() {
    let world = World::new();
    let first = world.join("first").await;
    let cluster = world.open(&first).await.unwrap();
    world.lists(&[RangeId(1)], first.owner()).await;
    fill(&cluster, 0..10).await;
    cluster.split(RangeId(1), None).await.unwrap();
    world.lists(&[RangeId(2), RangeId(3)], first.owner()).await;
    drop(cluster);
    world.disk.engines.restart().await;
    world.registry.revoke(first.owner().life.0).await.unwrap();

    let second = world.join("second").await;
    let cluster = world.open(&second).await.unwrap();
    world.lists(&[RangeId(2), RangeId(3)], second.owner()).await;
    assert_eq!(rows(&cluster).await.len(), 10);
}

/// The manager died between its decision and the change of the registry.
#[tokio::test(start_paused = true)]
async fn a_start_announces_changes_that_the_registry_missed() {
    let world = World::new();
    let first = world.join("first").await;
    let cluster = world.open(&first).await.unwrap();
    fill(&cluster, 0..10).await;
    drop(cluster);
    world.disk.engines.restart().await;
    world.registry.revoke(first.owner().life.0).await.unwrap();
    let unannounced = world.disk.open().await;
    let split = unannounced.split(RangeId(1), None).await.unwrap();
    unannounced.split(split.left, None).await.unwrap();
    drop(unannounced);
    world.disk.engines.restart().await;

    let second = world.join("second").await;
    world.open(&second).await.unwrap();
    let ranges = [RangeId(3), RangeId(4), RangeId(5)];
    world.lists(&ranges, second.owner()).await;
}

/// After a wipe of the registry, the gate of the last owner may still be open.
#[tokio::test(start_paused = true)]
async fn ranges_without_a_key_are_assigned_when_every_gate_is_closed() {
    let world = World::new();
    let member = world.join("a").await;
    let before = tokio::time::Instant::now();
    world.open(&member).await.unwrap();
    assert!(before.elapsed() >= member.timing().surely_closed_after());
    world.lists(&[RangeId(1)], member.owner()).await;
}

#[tokio::test(start_paused = true)]
async fn a_process_whose_term_is_over_serves_nothing() {
    let world = World::new();
    let member = world.join("a").await;
    let Election::Elected(term) = member.stand().await.unwrap() else {
        panic!("there is another manager");
    };
    world.registry.revoke(member.owner().life.0).await.unwrap();
    let coordinator = ElectedCoordinator::new(Arc::clone(&member), term);
    let error = world.open_in(coordinator).await.unwrap_err();
    assert!(
        matches!(
            error,
            StartError::Coordinator(CoordinatorError::NotManager(_))
        ),
        "{error}"
    );
    assert!(world.table().await.ranges().is_empty());
}

/// The lease ends after the databases were opened, before the first activation.
#[tokio::test(start_paused = true)]
async fn a_range_is_not_served_when_the_lease_ended_while_it_was_opened() {
    let world = World::new();
    let member = world.join("a").await;
    let Election::Elected(term) = member.stand().await.unwrap() else {
        panic!("there is another manager");
    };
    let coordinator = ElectedCoordinator::new(Arc::clone(&member), term);
    let range = MapRecord::first().specs().next().unwrap();
    let assigned = coordinator.assign(&[range]).await.unwrap().remove(0);
    world.registry.revoke(member.owner().life.0).await.unwrap();
    let refused = coordinator.activate(&assigned).await.unwrap_err();
    assert!(
        matches!(refused, CoordinatorError::NotManager(_)),
        "{refused}"
    );
}
