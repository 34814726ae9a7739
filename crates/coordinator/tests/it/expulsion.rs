//! Expelling a server that is alive.

use std::time::Duration;

use partita_coordinator::{Expulsion, Registry as _, RegistryError, Seen, TermError};
use tokio::time::Instant;

use crate::world::{TTL, World, placement, two};

/// Rule `WaitsForDeadline`: the expelled server may not hear of it and answer until its gate closes.
#[tokio::test(start_paused = true)]
async fn ranges_of_an_expelled_server_wait_until_its_gate_is_closed() {
    let (world, a, b, term) = two().await;
    world.served(&term, 1, &a).await;
    a.member.gate().confirm(TTL).await;
    a.link.cut(true);
    let expelled_at = Instant::now();
    assert!(b.member.expel(a.owner(), 2000).await.unwrap());
    assert!(a.member.gate().is_open(), "it does not know");

    let take = placement(1, Seen::Key(world.key(1).await), &b);
    let early = term.assign(std::slice::from_ref(&take)).await;
    let not_settled = TermError::NotSettled(take.range, a.life());
    assert_eq!(early, Err(not_settled));
    let table = world.table().await;
    let (life, expulsion) = table.expelled().first_key_value().unwrap();
    assert_eq!(*life, a.life());
    let expected = Expulsion {
        name: "a".to_owned(),
        lease_ms: 2000,
    };
    assert_eq!(expulsion.record, expected);

    term.settle(*life, TTL).await.unwrap();
    assert!(expelled_at.elapsed() >= a.member.timing().surely_closed_after());
    assert!(!a.member.gate().is_open());
    assert!(world.table().await.expelled().is_empty());
    term.assign(&[take]).await.unwrap();
}

/// The process that expelled it may die between the two steps.
#[tokio::test(start_paused = true)]
async fn settling_ends_a_lease_that_the_expulsion_left() {
    let world = World::new();
    let (a, b, c) = (
        world.join("a").await,
        world.join("b").await,
        world.join("c").await,
    );
    let term = b.elected().await;
    world.served(&term, 1, &a).await;
    c.link.lose_answers(1);
    let lost = c.member.expel(a.owner(), 2000).await.unwrap_err();
    assert!(matches!(lost, RegistryError::Unknown(_)));
    let still = world.memory.keep_alive(a.life().0).await.unwrap();
    assert_eq!(still, Some(TTL), "the lease is not revoked yet");
    term.settle(a.life(), TTL).await.unwrap();
    assert!(a.member.gate().is_over());
    world.assign(&term, 1, &b).await;
}

#[tokio::test(start_paused = true)]
async fn a_later_manager_settles_what_an_earlier_one_left() {
    let world = World::new();
    let (a, b, c) = (
        world.join("a").await,
        world.join("b").await,
        world.join("c").await,
    );
    let first = b.elected().await;
    world.served(&first, 1, &a).await;
    b.member.expel(a.owner(), 2000).await.unwrap();
    world.memory.revoke(b.life().0).await.unwrap();
    let second = c.elected().await;
    assert_eq!(first.settle(a.life(), TTL).await, Err(TermError::Over));
    assert_eq!(world.table().await.expelled().len(), 1);
    second.settle(a.life(), TTL).await.unwrap();
    world.assign(&second, 1, &c).await;
}

#[tokio::test(start_paused = true)]
async fn only_members_expel_and_are_expelled() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    world.memory.revoke(a.life().0).await.unwrap();
    assert!(!b.member.expel(a.owner(), 2000).await.unwrap());
    let refused = a.member.expel(b.owner(), 2000).await.unwrap_err();
    assert_eq!(refused, RegistryError::LeaseEnded);
    assert!(world.table().await.expelled().is_empty());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(b.member.gate().is_open());
}
