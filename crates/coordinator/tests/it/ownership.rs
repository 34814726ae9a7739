//! Assignment, activation and release of ranges: rules I2 to I4.

use partita_coordinator::registry::{Operation, Transaction};
use partita_coordinator::{
    Assignment, OwnershipError, RangeId, RangeState, Registry as _, RegistryError, Seen, TermError,
};

use crate::world::{TTL, World, absent, placement, two};

const RANGE: RangeId = RangeId(1);

#[tokio::test(start_paused = true)]
async fn a_range_is_assigned_activated_and_released() {
    let world = World::new();
    let (a, b) = (world.join("a").await, world.join("b").await);
    let term = a.elected().await;
    let tenure = world.served(&term, 1, &a).await;
    let key = world.key(1).await;
    assert_eq!(
        (key.revision, &key.record),
        (tenure.revision, &tenure.record)
    );
    assert_eq!(key.record.logs, [a.log], "a failure makes its log count");
    a.member.release(&tenure).await.unwrap();
    assert_eq!(world.key(1).await.record.state, RangeState::Released);

    let assignment = world.assign(&term, 1, &b).await;
    assert_eq!(
        assignment.record.logs,
        [],
        "released ranges have no log to replay"
    );
    let found = Assignment::of(RANGE, &world.key(1).await, b.owner());
    assert_eq!(found, Some(assignment.clone()));
    assert_eq!(Assignment::of(RANGE, &world.key(1).await, a.owner()), None);
    assert!(b.member.check(&assignment).await.unwrap());
    let tenure = b.member.activate(&assignment).await.unwrap();
    assert!(!b.member.check(&assignment).await.unwrap());
    assert_eq!(Assignment::of(RANGE, &world.key(1).await, b.owner()), None);
    assert!(tenure.revision > assignment.revision);
}

/// The logs of the owner that died count; if its successor dies while it opens the range, still those.
#[tokio::test(start_paused = true)]
async fn the_logs_of_a_dead_owner_are_kept_until_one_serves() {
    let world = World::new();
    let (a, b, c) = (
        world.join("a").await,
        world.join("b").await,
        world.join("c").await,
    );
    let term = c.elected().await;
    world.served(&term, 1, &a).await;
    a.link.cut(true);
    world.dead(a.owner()).await;
    let to_b = world.assign(&term, 1, &b).await;
    assert_eq!(to_b.record.logs, [a.log]);
    b.link.cut(true);
    world.dead(b.owner()).await;
    let to_c = world.assign(&term, 1, &c).await;
    assert_eq!(to_c.record.logs, [a.log], "b served nothing");
    c.member.activate(&to_c).await.unwrap();
    assert_eq!(world.key(1).await.record.logs, [c.log]);
}

/// Rule `OldOwnerGone`.
#[tokio::test(start_paused = true)]
async fn a_range_of_a_living_owner_is_not_assigned() {
    let (world, a, b, term) = two().await;
    world.served(&term, 1, &a).await;
    let take = placement(1, Seen::Key(world.key(1).await), &b);
    let refused = term.assign(std::slice::from_ref(&take)).await;
    assert_eq!(refused, Err(TermError::OwnerAlive(RANGE)));
    world.memory.revoke(a.life().0).await.unwrap();
    term.assign(&[take]).await.unwrap();
}

/// Rule `OldLifeNotName`: a restarted process has the name of its predecessor.
#[tokio::test(start_paused = true)]
async fn the_range_of_an_earlier_life_is_assigned() {
    let (world, a, _b, term) = two().await;
    world.served(&term, 1, &a).await;
    drop(a);
    let again = world.join("a").await;
    let assignment = world.assign(&term, 1, &again).await;
    again.member.activate(&assignment).await.unwrap();
}

/// Rule `AssignmentComparesRevision`: a transaction that is repeated, or decided on old news, changes nothing.
#[tokio::test(start_paused = true)]
async fn a_range_that_changed_is_not_assigned() {
    let (world, a, b, term) = two().await;
    let tenure = world.served(&term, 1, &a).await;
    a.member.release(&tenure).await.unwrap();
    let take = placement(1, Seen::Key(world.key(1).await), &b);
    b.link.lose_answers(1);
    let lost = term.assign(std::slice::from_ref(&take)).await.unwrap_err();
    assert!(matches!(
        lost,
        TermError::Registry(RegistryError::Unknown(_))
    ));
    let repeated = term.assign(&[take]).await;
    assert_eq!(repeated, Err(TermError::Changed(RANGE)));
    let assignment = Assignment::of(RANGE, &world.key(1).await, b.owner()).unwrap();
    b.member.activate(&assignment).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_range_is_not_assigned_to_a_life_that_is_over() {
    let (world, a, b, term) = two().await;
    let tenure = world.served(&term, 1, &b).await;
    b.member.release(&tenure).await.unwrap();
    world.memory.revoke(a.life().0).await.unwrap();
    let give = placement(1, Seen::Key(world.key(1).await), &a);
    let refused = term.assign(&[give]).await;
    assert_eq!(refused, Err(TermError::TargetGone(RANGE, a.life())));
}

/// All ranges of an assignment, or none.
#[tokio::test(start_paused = true)]
async fn ranges_are_assigned_together() {
    let (world, a, b, term) = two().await;
    let of_a = world.served(&term, 1, &a).await;
    world.served(&term, 2, &b).await;
    a.member.release(&of_a).await.unwrap();
    let mut both = Vec::new();
    for range in [1, 2] {
        both.push(placement(range, Seen::Key(world.key(range).await), &a));
    }
    let refused = term.assign(&both).await;
    assert_eq!(refused, Err(TermError::OwnerAlive(RangeId(2))));
    assert_eq!(world.key(1).await.record.state, RangeState::Released);
    world.memory.revoke(b.life().0).await.unwrap();
    let term = a.elected().await;
    let assigned = term.assign(&both).await.unwrap();
    assert_eq!(assigned.len(), 2);
    for assignment in &assigned {
        a.member.activate(assignment).await.unwrap();
    }
}

/// Rule `WaitsForDeadline` in an empty registry: the last owner may still answer.
#[tokio::test(start_paused = true)]
async fn a_range_without_a_key_waits_until_its_last_owner_is_silent() {
    let (world, a, b, term) = two().await;
    world.served(&term, 1, &a).await;
    a.link.cut(true);
    world.memory.wipe();
    b.over().await;
    let b = world.try_join("b", b.member.end()).await.unwrap();
    let term = b.elected().await;
    let after_wipe = Seen::Absent {
        shape: crate::world::shape(b"", None),
        logs: vec![a.log],
    };
    let take = placement(1, after_wipe, &b);
    let wait = match term.assign(std::slice::from_ref(&take)).await {
        Err(TermError::TooEarly(RANGE, wait)) => wait,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait, b.member.timing().surely_closed_after());
    tokio::time::sleep(wait - std::time::Duration::from_millis(1)).await;
    let early = term.assign(std::slice::from_ref(&take)).await;
    assert!(matches!(early, Err(TermError::TooEarly(RANGE, _))));
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    let assigned = term.assign(std::slice::from_ref(&take)).await.unwrap();
    assert!(!a.member.gate().is_open());
    assert_eq!(assigned[0].record.logs, [a.log]);
    let again = term.assign(&[take]).await;
    assert_eq!(again, Err(TermError::Changed(RANGE)), "it has a key now");
}

/// A wipe takes the keys of all ranges. One wait is enough for them, also for those of a later transaction.
#[tokio::test(start_paused = true)]
async fn ranges_without_keys_wait_together() {
    let (_world, a, _b, term) = two().await;
    let ranges: Vec<RangeId> = (1..=3).map(RangeId).collect();
    let wait = match term.check_absent(&ranges).await {
        Err(TermError::TooEarly(_, wait)) => wait,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait, a.member.timing().surely_closed_after());
    tokio::time::sleep(wait).await;
    let first = [placement(1, absent(), &a), placement(2, absent(), &a)];
    assert_eq!(term.assign(&first).await.unwrap().len(), 2);
    let later = term.assign(&[placement(3, absent(), &a)]).await;
    assert_eq!(later.unwrap().len(), 1);
    // Their keys may be new.
    let again = term.check_absent(&ranges).await;
    assert_eq!(again, Err(TermError::Changed(RangeId(1))));
}

/// Rule `ActivationComparesRevision`.
#[tokio::test(start_paused = true)]
async fn an_assignment_that_was_superseded_is_not_activated() {
    let (world, a, b, term) = two().await;
    let tenure = world.served(&term, 1, &b).await;
    b.member.release(&tenure).await.unwrap();
    let late = world.assign(&term, 1, &a).await;
    // The assignment's target dies and comes back under its name, and the range goes elsewhere.
    world.memory.revoke(a.life().0).await.unwrap();
    let newer = world.assign(&term, 1, &b).await;
    assert!(!a.member.check(&late).await.unwrap());
    assert_eq!(
        a.member.activate(&late).await,
        Err(OwnershipError::LifeOver)
    );
    let stale = Assignment {
        revision: late.revision,
        ..newer.clone()
    };
    let refused = b.member.activate(&stale).await;
    assert_eq!(refused, Err(OwnershipError::Superseded(RANGE)));
    b.member.activate(&newer).await.unwrap();
}

/// Rule `ActivationComparesLease`: the newest assignment, but the life is over.
#[tokio::test(start_paused = true)]
async fn a_life_that_is_over_activates_nothing() {
    let (world, a, b, term) = two().await;
    let tenure = world.served(&term, 1, &b).await;
    b.member.release(&tenure).await.unwrap();
    let assignment = world.assign(&term, 1, &a).await;
    world.memory.revoke(a.life().0).await.unwrap();
    let refused = a.member.activate(&assignment).await;
    assert_eq!(refused, Err(OwnershipError::LifeOver));
    let key = world.key(1).await.record;
    assert!(matches!(key.state, RangeState::Opening { .. }));
}

#[tokio::test(start_paused = true)]
async fn an_activation_can_be_repeated_after_a_lost_answer() {
    let world = World::new();
    let a = world.join("a").await;
    let term = a.elected().await;
    let tenure = world.served(&term, 1, &a).await;
    a.member.release(&tenure).await.unwrap();
    let assignment = world.assign(&term, 1, &a).await;
    a.link.lose_answers(1);
    let lost = a.member.activate(&assignment).await.unwrap_err();
    assert!(matches!(
        lost,
        OwnershipError::Registry(RegistryError::Unknown(_))
    ));
    let tenure = a.member.activate(&assignment).await.unwrap();
    assert_eq!(tenure.revision, world.key(1).await.revision);
    a.member.release(&tenure).await.unwrap();
    let refused = a.member.activate(&assignment).await;
    assert_eq!(refused, Err(OwnershipError::Superseded(RANGE)));
}

/// Rule `ReleaseComparesRevision`: a late release does not end the tenure of a later owner.
#[tokio::test(start_paused = true)]
async fn only_the_own_tenure_is_released() {
    let world = World::new();
    let a = world.join("a").await;
    let term = a.elected().await;
    let first = world.served(&term, 1, &a).await;
    a.member.release(&first).await.unwrap();
    let assignment = world.assign(&term, 1, &a).await;
    let second = a.member.activate(&assignment).await.unwrap();
    let late = a.member.release(&first).await;
    assert_eq!(late, Err(OwnershipError::Superseded(RANGE)));
    assert_eq!(world.key(1).await.revision, second.revision);
}

/// In a registry that lost its data, another tenure can have the same revision.
#[tokio::test(start_paused = true)]
async fn an_equal_revision_of_another_registry_is_another_tenure() {
    let (before, after) = (World::new(), World::new());
    after.memory.grant(TTL).await.unwrap();
    let (a, b) = (before.join("a").await, after.join("a").await);
    let (term_a, term_b) = (a.elected().await, b.elected().await);
    let old = before.served(&term_a, 1, &a).await;
    let new = after.served(&term_b, 1, &b).await;
    assert_eq!(old.revision, new.revision);
    a.link.switch(after.registry());
    let refused = a.member.release(&old).await;
    assert_eq!(refused, Err(OwnershipError::LifeOver));
    assert_eq!(after.key(1).await.record, new.record);
}

#[tokio::test(start_paused = true)]
async fn the_first_assignment_waits_once_for_each_range() {
    let world = World::new();
    let a = world.join("a").await;
    let term = a.elected().await;
    world.served(&term, 1, &a).await;
    // The time that was waited for one range does not count for another.
    let other = term.assign(&[placement(2, absent(), &a)]).await;
    assert!(matches!(other, Err(TermError::TooEarly(RangeId(2), _))));
    // Nor for the same range, when its key was there since.
    let delete = Transaction {
        changes: vec![Operation::Delete("ranges/1".to_owned())],
        ..Transaction::default()
    };
    world.memory.commit(delete).await.unwrap();
    let again = term.assign(&[placement(1, absent(), &a)]).await;
    assert!(matches!(again, Err(TermError::TooEarly(RANGE, _))));
}
