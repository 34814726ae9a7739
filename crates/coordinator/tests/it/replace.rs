//! The keys of ranges after a change of shape.

use partita_coordinator::{RangeId, RangeState, Registry as _, TermError};

use crate::world::{shape, two};

const LEFT: RangeId = RangeId(2);
const RIGHT: RangeId = RangeId(3);

fn halves() -> [(RangeId, partita_coordinator::RangeShape); 2] {
    [(LEFT, shape(b"", Some(b"m"))), (RIGHT, shape(b"m", None))]
}

#[tokio::test(start_paused = true)]
async fn a_split_and_a_merge_keep_the_owner() {
    let (world, a, b, term) = two().await;
    let parent = world.served(&term, 1, &a).await;
    let old = [(parent.range, world.key(1).await)];
    let revision = term.replace(&old, &halves(), 7).await.unwrap();
    let table = world.table().await;
    assert_eq!(table.map().unwrap().record.version, 7);
    assert_eq!(table.ranges().len(), 2);
    for (range, shape) in halves() {
        let key = &table.ranges()[&range];
        assert_eq!((key.revision, &key.record.shape), (revision, &shape));
        assert_eq!(key.record.logs, [a.log]);
        assert_eq!(key.record.owner(), Some(a.owner()));
    }
    let old: Vec<_> = table.ranges().clone().into_iter().collect();
    let whole = [(RangeId(4), shape(b"", None))];
    term.replace(&old, &whole, 9).await.unwrap();
    // The change names its tenures, so the old ones are over.
    assert!(a.member.release(&parent).await.is_err());
    a.link.cut(true);
    world.dead(a.owner()).await;
    let assignment = world.assign(&term, 4, &b).await;
    assert_eq!(assignment.record.logs, [a.log]);
}

#[tokio::test(start_paused = true)]
async fn keys_that_changed_are_not_replaced() {
    let (world, a, _b, term) = two().await;
    let parent = world.served(&term, 1, &a).await;
    let seen = [(parent.range, world.key(1).await)];
    a.member.release(&parent).await.unwrap();
    let refused = term.replace(&seen, &halves(), 7).await;
    assert_eq!(refused, Err(TermError::Changed(parent.range)));
    assert_eq!(world.table().await.map(), None);
    // Released ranges are replaced by released ones.
    let seen = [(parent.range, world.key(1).await)];
    term.replace(&seen, &halves(), 7).await.unwrap();
    assert_eq!(world.key(2).await.record.state, RangeState::Released);
    // Ids of ranges are not used again.
    let seen = [(LEFT, world.key(2).await)];
    let taken = term.replace(&seen, &halves()[1..], 8).await;
    assert_eq!(taken, Err(TermError::Changed(RIGHT)));
}

#[tokio::test(start_paused = true)]
async fn ranges_of_two_owners_are_not_merged() {
    let (world, a, b, term) = two().await;
    world.served(&term, 2, &a).await;
    world.served(&term, 3, &b).await;
    let old = [(LEFT, world.key(2).await), (RIGHT, world.key(3).await)];
    let refused = term
        .replace(&old, &[(RangeId(4), shape(b"", None))], 1)
        .await;
    assert_eq!(refused, Err(TermError::NotOneOwner(RIGHT)));
    world.memory.revoke(a.life().0).await.unwrap();
    let opening = world.assign(&term, 2, &b).await;
    let old = [(LEFT, world.key(2).await)];
    let refused = term.replace(&old, &halves()[..1], 1).await;
    assert_eq!(refused, Err(TermError::NotOneOwner(LEFT)));
    b.member.activate(&opening).await.unwrap();
}
