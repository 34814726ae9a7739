//! Terms of managers.

use partita_coordinator::registry::{Operation, Transaction};
use partita_coordinator::{Election, Registry as _, RegistryError, Seen, TermError};

use crate::world::{TTL, World, placement};

#[tokio::test(start_paused = true)]
async fn one_manager_is_elected() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let term = a.elected().await;
    assert!(term.confirm().await.unwrap());
    let held = b.member.stand().await.unwrap();
    assert!(matches!(held, Election::Held(number) if number == term.number()));
    let manager = world.table().await.manager().unwrap().clone();
    assert_eq!(manager.created, term.number());
    assert_eq!(&manager.record.owner, a.owner());
}

#[tokio::test(start_paused = true)]
async fn a_later_term_has_a_greater_number() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let first = a.elected().await;
    let number = first.number();
    first.end().await.unwrap();
    let second = b.elected().await;
    assert!(second.number() > number);
}

#[tokio::test(start_paused = true)]
async fn balancing_stays_off_in_later_terms() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let first = a.elected().await;
    assert!(world.table().await.balances());
    first.set_balance(false).await.unwrap();
    first.end().await.unwrap();
    assert_eq!(first.set_balance(true).await, Err(TermError::Over));
    let second = b.elected().await;
    assert!(!world.table().await.balances());
    second.set_balance(true).await.unwrap();
    assert!(world.table().await.balances());
}

#[tokio::test(start_paused = true)]
async fn an_election_can_be_repeated_after_a_lost_answer() {
    let world = World::new();
    let a = world.join("a").await;
    a.link.lose_answers(1);
    let lost = a.member.stand().await.unwrap_err();
    assert!(matches!(lost, RegistryError::Unknown(_)));
    let term = a.elected().await;
    assert!(term.confirm().await.unwrap());
}

/// A manager whose lease ended does not know it: everything that it does is refused.
#[tokio::test(start_paused = true)]
async fn a_manager_of_an_earlier_term_is_refused() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let old = a.elected().await;
    let tenure = world.served(&old, 1, &b).await;
    let key = world.key(1).await;
    b.member.release(&tenure).await.unwrap();
    world.memory.revoke(a.life().0).await.unwrap();
    let new = b.elected().await;
    assert!(!old.confirm().await.unwrap());

    let released = world.key(1).await;
    let assigned = placement(1, Seen::Key(released), &b);
    let refused = old.assign(std::slice::from_ref(&assigned)).await;
    assert_eq!(refused, Err(TermError::Over));
    let replaced = old.replace(&[(tenure.range, key)], &[], 1).await;
    assert_eq!(replaced, Err(TermError::Over));
    old.end().await.unwrap();
    assert!(new.confirm().await.unwrap(), "only its own term ends");
    new.assign(&[assigned]).await.unwrap();
}

/// A registry that lost its data gives the same revisions again; the lease tells the terms apart.
#[tokio::test(start_paused = true)]
async fn an_equal_number_of_another_registry_is_another_term() {
    let (before, after) = (World::new(), World::new());
    let a = before.join("a").await;
    let old = a.elected().await;
    // Ids of leases are random in etcd, but counted in memory.
    after.memory.grant(TTL).await.unwrap();
    let b = after.join("a").await;
    let new = b.elected().await;
    assert_eq!(old.number(), new.number());
    a.link.switch(after.registry());
    assert!(!old.confirm().await.unwrap());
    assert_eq!(old.settle(a.life(), TTL).await, Err(TermError::Over));
    assert!(new.confirm().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_life_that_is_over_is_not_elected() {
    let world = World::new();
    let a = world.join("a").await;
    world.memory.revoke(a.life().0).await.unwrap();
    let refused = a.member.stand().await.unwrap_err();
    assert_eq!(refused, RegistryError::LeaseEnded);
    assert!(world.table().await.manager().is_none());
}

/// A wipe leaves the lease, but the life is over.
#[tokio::test(start_paused = true)]
async fn a_life_without_its_key_is_not_elected() {
    let world = World::new();
    let a = world.join("a").await;
    world.memory.wipe();
    let refused = a.member.stand().await.unwrap_err();
    assert_eq!(refused, RegistryError::LeaseEnded);
}

/// The life is the same, so only the number tells the terms apart.
#[tokio::test(start_paused = true)]
async fn an_earlier_term_of_the_same_life_is_over() {
    let world = World::new();
    let a = world.join("a").await;
    let first = a.elected().await;
    let delete = Transaction {
        changes: vec![Operation::Delete("manager".to_owned())],
        ..Transaction::default()
    };
    world.memory.commit(delete).await.unwrap();
    let second = a.elected().await;
    assert!(!first.confirm().await.unwrap());
    assert_eq!(first.settle(a.life(), TTL).await, Err(TermError::Over));
    assert!(second.number() > first.number());
}
