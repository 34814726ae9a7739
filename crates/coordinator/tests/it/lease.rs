//! Joining, keeping and losing a lease; restarts in place.

use std::time::Duration;

use partita_coordinator::{JoinError, Registry as _, ServerInfo, ServerRecord};
use tokio::time::Instant;

use crate::world::{LONG, TTL, World};

#[tokio::test(start_paused = true)]
async fn a_member_is_listed_and_its_gate_is_open() {
    let world = World::new();
    let a = world.join("a").await;
    assert!(a.member.gate().is_open());
    let table = world.table().await;
    assert!(table.is_alive("a", a.life()));
    let joined = &table.servers()["a"].record;
    assert_eq!(joined.lease_ms, 2000);
}

/// Otherwise its log would be taken for that of a dead process.
#[tokio::test(start_paused = true)]
async fn a_server_that_drains_still_names_its_log() {
    let world = World::new();
    let a = world.join("a").await;
    let joined = world.table().await.servers()["a"].record.clone();
    assert_eq!(joined.info.log, Some(a.log));
    for draining in [true, false] {
        a.member.set_draining(draining).await.unwrap();
        let table = world.table().await;
        let expected = ServerInfo {
            draining,
            ..joined.info.clone()
        };
        let expected = ServerRecord {
            info: expected,
            ..joined.clone()
        };
        assert_eq!(table.servers()["a"].record, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_kept_alive_for_ever() {
    let world = World::new();
    let a = world.join("a").await;
    for _ in 0..100 {
        tokio::time::sleep(TTL / 3).await;
        assert!(a.member.gate().is_open());
    }
}

/// The gate of a process that is cut off closes before the registry ends its lease.
#[tokio::test(start_paused = true)]
async fn the_gate_closes_before_the_lease_ends() {
    let world = World::new();
    let a = world.join("a").await;
    a.link.cut(true);
    let cut_at = Instant::now();
    while a.member.gate().is_open() {
        assert!(world.table().await.is_alive("a", a.life()));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(cut_at.elapsed() <= a.member.timing().open_for() + Duration::from_millis(1));
    world.dead(a.owner()).await;
    assert!(cut_at.elapsed() <= TTL);
    // It hears of it when it is connected again, and never serves again.
    a.link.cut(false);
    a.over().await;
    assert!(!a.member.gate().opened(LONG).await);
}

#[tokio::test(start_paused = true)]
async fn a_gate_opens_again_after_a_short_cut() {
    let world = World::new();
    let a = world.join("a").await;
    a.link.cut(true);
    while a.member.gate().is_open() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    a.link.cut(false);
    assert!(a.member.gate().opened(Duration::from_millis(100)).await);
}

/// A wiped registry keeps leases alive but has no keys: others can be assigned what this life serves.
#[tokio::test(start_paused = true)]
async fn a_life_is_over_when_its_key_is_gone() {
    let world = World::new();
    let a = world.join("a").await;
    world.memory.wipe();
    let wiped_at = Instant::now();
    a.over().await;
    assert!(!a.member.gate().is_open());
    assert!(wiped_at.elapsed() <= a.member.timing().keep_alive_every());
    let lease = a.life().0;
    let kept = world.memory.keep_alive(lease).await.unwrap();
    assert_eq!(kept, Some(TTL), "the lease itself lives on");
}

#[tokio::test(start_paused = true)]
async fn reads_are_confirmed_only_while_the_registry_answers() {
    let world = World::new();
    let a = world.join("a").await;
    let began = Instant::now();
    assert!(a.member.gate().confirm(LONG).await);
    assert!(
        began.elapsed() < Duration::from_millis(10),
        "not at the next keepalive"
    );
    a.link.cut(true);
    assert!(a.member.gate().is_open());
    assert!(!a.member.gate().confirm(Duration::from_secs(1)).await);
}

/// However many reads wait, and however quick the registry is.
#[tokio::test(start_paused = true)]
async fn confirmed_reads_do_not_flood_the_registry() {
    let world = World::new();
    let a = world.join("a").await;
    let began = Instant::now();
    for _ in 0..100 {
        let gate = a.member.gate();
        let both = tokio::join!(gate.confirm(LONG), gate.confirm(LONG));
        assert_eq!(both, (true, true));
    }
    assert!(began.elapsed() >= Duration::from_millis(95));
}

#[tokio::test(start_paused = true)]
async fn a_name_has_one_life() {
    let world = World::new();
    let a = world.join("a").await;
    let twin = world.try_join("a", world.state_dir("elsewhere")).await;
    let refused = twin.err().unwrap();
    assert!(
        matches!(&refused, JoinError::NameTaken { life, .. } if *life == Some(a.life())),
        "{refused}"
    );
    drop(a);
    world.join("b").await;
}

/// The state directory proves that the predecessor is dead, so its lease ends at once.
#[tokio::test(start_paused = true)]
async fn a_restart_in_place_does_not_wait() {
    let world = World::new();
    let a = world.join("a").await;
    let (old, gate) = (a.owner().clone(), a.member.gate().clone());
    let restarted_at = Instant::now();
    drop(a);
    assert!(!gate.is_open(), "the lock is released, so the life is over");
    let again = world.join("a").await;
    assert_eq!(restarted_at.elapsed(), Duration::ZERO);
    assert_ne!(again.life(), old.life);
    assert!(!world.table().await.is_alive("a", old.life));
    let kept = world.memory.keep_alive(old.life.0).await.unwrap();
    assert_eq!(kept, None);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_others_hold_leaves_by_closing() {
    let world = World::new();
    let a = world.join("a").await;
    a.member.close().await.unwrap();
    assert!(a.member.gate().is_over());
    assert!(!world.table().await.is_alive("a", a.life()));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_leaves_has_no_lease_and_no_last_life() {
    let world = World::new();
    let a = world.join("a").await;
    let (old, gate) = (a.owner().clone(), a.member.gate().clone());
    let state_dir = a.member.leave().await.unwrap();
    assert!(!gate.is_open());
    assert!(!world.table().await.is_alive("a", old.life));
    assert_eq!(state_dir.last_life().unwrap(), None);
    world.try_join("a", state_dir).await.unwrap();
}

/// After its lease was lost, the same process joins again with a new life.
#[tokio::test(start_paused = true)]
async fn a_process_joins_again_after_its_life() {
    let world = World::new();
    let a = world.join("a").await;
    world.memory.wipe();
    a.over().await;
    let old = a.life();
    let again = world.try_join("a", a.member.end()).await.unwrap();
    assert_ne!(again.life(), old);
    assert!(again.member.gate().is_open());
}

#[tokio::test(start_paused = true)]
async fn a_life_that_is_over_describes_nothing() {
    let world = World::new();
    let a = world.join("a").await;
    world.memory.revoke(a.life().0).await.unwrap();
    assert!(a.member.set_draining(true).await.is_err());
    assert!(world.table().await.servers().is_empty());
}
