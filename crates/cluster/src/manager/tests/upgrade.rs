//! The version of a cluster, raised by its manager, in virtual time.

use crate::manager::upgrade::{FinalizeRefused, Upgrade};
use crate::version_store::VersionStore;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use partita_coordinator::registry::{Operation, Transaction};
use partita_coordinator::{
    ClusterVersion, Election, JoinError, Member, MemberParts, MemoryRegistry, Registry as _,
    Revision, ServerInfo, StateDir, Table, Term, VersionRecord, VersionRefused, Versions,
};
use partita_rt::{Clock, Tasks, TokioClock};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const ONE: ClusterVersion = ClusterVersion(1);
const TWO: ClusterVersion = ClusterVersion(2);

/// How long all servers must have supported the next version.
const AFTER: Duration = Duration::from_secs(24 * 3600);

/// How long the store takes to put an object.
const PUT: Duration = Duration::from_millis(100);

struct World {
    registry: Arc<MemoryRegistry>,
    store: VersionStore,
    clock: Arc<dyn Clock>,
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::with_rate(1.0));
        let config = ThrottleConfig {
            wait_put_per_call: PUT,
            ..ThrottleConfig::default()
        };
        let objects = ThrottledStore::new(InMemory::new(), config);
        Self {
            registry: Arc::new(MemoryRegistry::new(Arc::clone(&clock))),
            store: VersionStore::new(Arc::new(objects)),
            clock,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    async fn try_join(&self, name: &str, versions: &str) -> Result<Member, JoinError> {
        let versions = Versions::parse(versions).unwrap();
        let info = ServerInfo {
            version: format!("0.{}.0", versions.newest()),
            ..ServerInfo::default()
        };
        Member::join(MemberParts {
            registry: self.registry.clone(),
            clock: Arc::clone(&self.clock),
            tasks: Tasks::new(),
            name: name.to_owned(),
            info: info.with_versions(versions),
            ttl: Duration::from_secs(2),
            state_dir: StateDir::open(self.directory.path().join(name)).unwrap(),
        })
        .await
    }

    async fn join(&self, name: &str, versions: &str) -> Member {
        self.try_join(name, versions).await.unwrap()
    }

    async fn elected(&self, member: &Member) -> Arc<Term> {
        match member.stand().await.unwrap() {
            Election::Elected(term) => Arc::new(term),
            Election::Held(term) => panic!("term {term} is held"),
        }
    }

    fn upgrade(&self, term: &Arc<Term>) -> Upgrade {
        let (term, clock) = (Arc::clone(term), Arc::clone(&self.clock));
        Upgrade::new(term, self.store.clone(), clock, AFTER)
    }

    async fn table(&self) -> Table {
        Table::read(&*self.registry).await.unwrap()
    }

    async fn record(&self) -> Option<VersionRecord> {
        self.table().await.version().map(|key| key.record)
    }

    async fn tick(&self, upgrade: &Upgrade) {
        upgrade.tick(&self.table().await).await;
    }
}

fn at(active: ClusterVersion) -> Option<VersionRecord> {
    Some(VersionRecord { active, next: None })
}

/// A restart with another program.
async fn replace(world: &World, member: Member, versions: &str) -> Member {
    let name = member.owner().name.clone();
    drop(member.leave().await.unwrap());
    world.join(&name, versions).await
}

#[tokio::test(start_paused = true)]
async fn a_version_is_finalized_once_all_servers_support_it() {
    let world = World::new();
    let a = world.join("a", "1-2").await;
    let b = world.join("b", "1-1").await;
    let upgrade = world.upgrade(&world.elected(&a).await);
    world.tick(&upgrade).await;
    assert_eq!(world.record().await, at(ONE));
    let refused = upgrade.finalize().await.unwrap_err().to_string();
    assert!(refused.contains("b (partita 0.1.0)"), "{refused}");
    assert!(!refused.contains("a (partita"), "{refused}");
    assert_eq!(world.record().await, at(ONE));
    assert_eq!(world.store.version().await.unwrap(), ONE);

    // Until then, going back is possible.
    let b = replace(&world, b, "1-2").await;
    let b = replace(&world, b, "1-1").await;
    let _b = replace(&world, b, "1-2").await;
    assert_eq!(upgrade.finalize().await.unwrap(), TWO);
    assert_eq!(world.record().await, at(TWO));
    assert_eq!(world.store.version().await.unwrap(), TWO);
    let old = world.try_join("c", "1-1").await;
    assert!(matches!(old, Err(JoinError::Version(_))));
    let _c = world.join("c", "2-3").await;
    let again = upgrade.finalize().await.unwrap_err().to_string();
    assert!(again.contains("a (partita 0.2.0)"), "{again}");
}

/// The servers were listed, and the store does not have the version yet.
#[tokio::test(start_paused = true)]
async fn no_server_joins_between_the_steps() {
    let world = World::new();
    let a = world.join("a", "1-2").await;
    let upgrade = world.upgrade(&world.elected(&a).await);
    world.tick(&upgrade).await;
    let joining = async {
        tokio::time::sleep(PUT / 2).await;
        assert_eq!(world.table().await.active_version(), ONE);
        let old = world.try_join("old", "1-1").await;
        let new = world.try_join("new", "1-2").await;
        (old, new)
    };
    let (finalized, (old, new)) = tokio::join!(upgrade.finalize(), joining);
    assert_eq!(finalized.unwrap(), TWO);
    let refused = matches!(
        old,
        Err(JoinError::Version(VersionRefused::Finalizing {
            next: TWO,
            ..
        }))
    );
    assert!(refused && new.is_ok());
}

#[tokio::test(start_paused = true)]
async fn without_a_later_program_there_is_nothing_to_finalize() {
    let world = World::new();
    let a = world.join("a", "1-1").await;
    let upgrade = world.upgrade(&world.elected(&a).await);
    let refused = upgrade.finalize().await.unwrap_err();
    assert!(matches!(refused, FinalizeRefused::Nothing(ONE)));
}

#[tokio::test(start_paused = true)]
async fn a_version_is_finalized_after_a_day_in_which_all_servers_supported_it() {
    let world = World::new();
    let a = world.join("a", "1-2").await;
    let b = world.join("b", "1-2").await;
    let upgrade = world.upgrade(&world.elected(&a).await);
    world.tick(&upgrade).await;
    tokio::time::sleep(AFTER / 2).await;
    world.tick(&upgrade).await;
    // One that does not support it: the day begins anew.
    let b = replace(&world, b, "1-1").await;
    world.tick(&upgrade).await;
    let _b = replace(&world, b, "1-2").await;
    world.tick(&upgrade).await;
    tokio::time::sleep(AFTER - Duration::from_secs(1)).await;
    world.tick(&upgrade).await;
    assert_eq!(world.record().await, at(ONE));
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.tick(&upgrade).await;
    assert_eq!(world.record().await, at(TWO));
    assert_eq!(world.store.version().await.unwrap(), TWO);
}

/// The manager ends between two of its steps; the next one completes what the store has, and decides the rest anew.
#[tokio::test(start_paused = true)]
async fn an_interrupted_step_is_completed_by_the_next_manager() {
    let begun = VersionRecord {
        active: ONE,
        next: Some(TWO),
    };
    for (versions, is_stored, expected) in [
        ("1-2", false, TWO),
        ("1-2", true, TWO),
        // A server that joined before the step began.
        ("1-1", false, ONE),
    ] {
        let world = World::new();
        let a = world.join("a", "1-2").await;
        let _b = world.join("b", versions).await;
        let first = world.elected(&a).await;
        first.set_version(Revision(0), begun).await.unwrap();
        if is_stored {
            world.store.record(TWO).await.unwrap();
        }
        first.end().await.unwrap();
        let upgrade = world.upgrade(&world.elected(&a).await);
        world.tick(&upgrade).await;
        assert_eq!(world.record().await, at(expected), "{versions} {is_stored}");
    }
}

/// The registry loses its data, and the version with it.
#[tokio::test(start_paused = true)]
async fn the_store_keeps_the_version() {
    let world = World::new();
    let a = world.join("a", "2-3").await;
    world.store.record(TWO).await.unwrap();
    let term = world.elected(&a).await;
    let upgrade = world.upgrade(&term);
    world.tick(&upgrade).await;
    assert_eq!(world.record().await, at(TWO));
    let wipe = Transaction {
        changes: vec![Operation::Delete("version".to_owned())],
        ..Transaction::default()
    };
    world.registry.commit(wipe).await.unwrap();
    assert_eq!(world.record().await, None);
    world.tick(&upgrade).await;
    assert_eq!(world.record().await, at(TWO));
}

/// A server that does not support the version of the store is there all the same: what all servers read is written.
#[tokio::test(start_paused = true)]
async fn a_version_that_a_server_does_not_support_stays_inactive() {
    let world = World::new();
    let a = world.join("a", "1-2").await;
    let old = world.join("old", "1-1").await;
    world.store.record(TWO).await.unwrap();
    let upgrade = world.upgrade(&world.elected(&a).await);
    world.tick(&upgrade).await;
    assert_eq!(world.table().await.active_version(), ONE);
    drop(old.leave().await.unwrap());
    world.tick(&upgrade).await;
    assert_eq!(world.record().await, at(TWO));
}
