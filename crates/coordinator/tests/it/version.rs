//! Cluster versions: who may join, and that no join slips past a change of the version.

use std::time::Duration;

use partita_coordinator::{
    ClusterVersion, JoinError, Revision, TermError, VersionRecord, VersionRefused, Versions,
};

use crate::link::Link;
use crate::world::{Process, World};

/// The delay of a slow registry.
const DELAY: Duration = Duration::from_millis(10);

const ONE: ClusterVersion = ClusterVersion(1);
const TWO: ClusterVersion = ClusterVersion(2);

async fn try_join(world: &World, name: &str, versions: &str) -> Result<Process, JoinError> {
    let versions = Versions::parse(versions).unwrap();
    let state_dir = world.state_dir(name);
    world.try_join_as(name, state_dir, versions).await
}

fn refused(joined: Result<Process, JoinError>) -> VersionRefused {
    match joined {
        Err(JoinError::Version(refused)) => refused,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the program was not refused"),
    }
}

const ACTIVE_TWO: VersionRecord = VersionRecord {
    active: TWO,
    next: None,
};

const RAISING: VersionRecord = VersionRecord {
    active: ONE,
    next: Some(TWO),
};

#[tokio::test(start_paused = true)]
async fn without_a_version_servers_write_the_first() {
    let world = World::new();
    let a = world.join("a").await;
    let b = try_join(&world, "b", "1-2").await.unwrap();
    let table = world.table().await;
    assert_eq!((table.version(), table.active_version()), (None, ONE));
    assert_eq!(table.unable(TWO), ["a"]);
    assert!(table.unable(ONE).is_empty());
    // The store decides who may join then.
    let c = try_join(&world, "c", "2-3").await.unwrap();
    let term = a.elected().await;
    let first = VersionRecord::default();
    term.set_version(Revision(0), first).await.unwrap();
    let too_new = refused(try_join(&world, "d", "2-3").await);
    assert!(matches!(
        too_new,
        VersionRefused::TooNew { cluster: ONE, .. }
    ));
    drop((b, c));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_cannot_read_the_version_is_refused() {
    let world = World::new();
    let b = try_join(&world, "b", "1-2").await.unwrap();
    let term = b.elected().await;
    let raising = term.set_version(Revision(0), RAISING).await.unwrap();
    let early = refused(try_join(&world, "a", "1-1").await);
    assert!(matches!(
        early,
        VersionRefused::Finalizing { next: TWO, .. }
    ));
    let c = try_join(&world, "c", "1-2").await.unwrap();
    term.set_version(raising, ACTIVE_TWO).await.unwrap();
    let late = refused(try_join(&world, "a", "1-1").await);
    assert!(matches!(late, VersionRefused::TooOld { cluster: TWO, .. }));
    let d = try_join(&world, "d", "2-3").await.unwrap();
    assert_eq!(world.table().await.active_version(), TWO);
    drop((c, d));
}

/// A refused program takes no lease, and leaves that of its predecessor alone.
#[tokio::test(start_paused = true)]
async fn a_refused_program_changes_nothing() {
    let world = World::new();
    let a = try_join(&world, "a", "1-2").await.unwrap();
    let term = a.elected().await;
    term.set_version(Revision(0), ACTIVE_TWO).await.unwrap();
    let (before, owner) = (world.table().await, a.owner().clone());
    drop(a);
    refused(try_join(&world, "a", "1-1").await);
    assert_eq!(world.table().await, before);
    assert!(before.is_alive(&owner.name, owner.life));
}

/// The version changes between the look at it and the join.
#[tokio::test(start_paused = true)]
async fn a_join_does_not_slip_past_a_change_of_the_version() {
    let world = World::new();
    let b = try_join(&world, "b", "1-2").await.unwrap();
    let term = b.elected().await;
    let (link, state_dir) = (Link::new(world.registry()), world.state_dir("a"));
    link.delay_each(DELAY);
    let joining = world.try_join_through(link, "a", state_dir, Versions::OWN);
    let changing = async {
        // The version was read, and the key of the server is not written yet.
        tokio::time::sleep(DELAY * 3).await;
        term.set_version(Revision(0), RAISING).await.unwrap();
        assert!(!world.table().await.servers().contains_key("a"));
    };
    let (joined, ()) = tokio::join!(joining, changing);
    assert!(matches!(joined, Err(JoinError::VersionChanged)));
    assert!(!world.table().await.servers().contains_key("a"));
}

#[tokio::test(start_paused = true)]
async fn only_the_current_term_changes_the_version() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let first = a.elected().await;
    let seen = first
        .set_version(Revision(0), VersionRecord::default())
        .await;
    let stale = first.set_version(Revision(0), RAISING).await;
    assert_eq!(stale, Err(TermError::VersionChanged));
    first.end().await.unwrap();
    let _second = b.elected().await;
    let late = first.set_version(seen.unwrap(), RAISING).await;
    assert_eq!(late, Err(TermError::Over));
    assert_eq!(world.table().await.active_version(), ONE);
}
