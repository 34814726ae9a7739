//! The table that follows the registry.

use std::time::Duration;

use partita_coordinator::{RangeId, Registry as _, Routes};
use partita_rt::Tasks;

use crate::world::{LONG, World, shape};

#[tokio::test(start_paused = true)]
async fn the_table_follows_every_change() {
    let world = World::new();
    let a = world.join("a").await;
    let routes = Routes::follow(a.link.clone(), &Tasks::new());
    let term = a.elected().await;
    let tenure = world.served(&term, 1, &a).await;
    let table = routes.reached(tenure.revision, LONG).await.unwrap();
    assert_eq!(*table, world.table().await);
    let (range, key) = table.range_of(b"x").unwrap();
    assert_eq!((range, key.record.owner()), (RangeId(1), Some(a.owner())));

    let old = [(tenure.range, key.clone())];
    let new = [
        (RangeId(2), shape(b"", Some(b"m"))),
        (RangeId(3), shape(b"m", None)),
    ];
    let split = term.replace(&old, &new, 3).await.unwrap();
    let table = routes.reached(split, LONG).await.unwrap();
    for (key, range) in [(&b""[..], 2), (b"lz", 2), (b"m", 3), (b"\xff", 3)] {
        assert_eq!(table.range_of(key).unwrap().0, RangeId(range), "{key:?}");
    }
    drop(a);
    let gone = |table: &partita_coordinator::Table| table.servers().is_empty();
    let table = routes.wait_for(LONG, gone).await.unwrap();
    assert!(table.manager().is_none());
}

#[tokio::test(start_paused = true)]
async fn keys_outside_of_all_ranges_have_none() {
    let world = World::new();
    let a = world.join("a").await;
    let term = a.elected().await;
    assert!(world.table().await.range_of(b"x").is_none());
    let tenure = world.served(&term, 1, &a).await;
    let old = [(tenure.range, world.key(1).await)];
    let middle = [(RangeId(2), shape(b"c", Some(b"f")))];
    term.replace(&old, &middle, 1).await.unwrap();
    let table = world.table().await;
    for key in [&b"b"[..], b"f", b""] {
        assert!(table.range_of(key).is_none(), "{key:?}");
    }
    assert!(table.range_of(b"c").is_some());
}

/// After a cut and a compaction, the table is read anew.
#[tokio::test(start_paused = true)]
async fn the_table_recovers_from_a_lost_connection() {
    let world = World::new();
    let a = world.join("a").await;
    let routes = Routes::follow(world.registry(), &Tasks::new());
    routes
        .reached(world.table().await.revision(), LONG)
        .await
        .unwrap();
    world.memory.set_unreachable(true);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(
        routes.current().is_alive("a", a.life()),
        "the last one stays"
    );
    world.memory.set_unreachable(false);
    let b = world.join("b").await;
    world.memory.compact(world.table().await.revision());
    let alive = |table: &partita_coordinator::Table| table.is_alive("b", b.life());
    routes.wait_for(LONG, alive).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_read_is_left_out() {
    use partita_coordinator::registry::{Operation, Transaction};
    let world = World::new();
    let a = world.join("a").await;
    let later = Operation::Put("ranges/9".to_owned(), (&b"{\"format\":2}"[..]).into(), None);
    let transaction = Transaction {
        changes: vec![later],
        ..Transaction::default()
    };
    world.memory.commit(transaction).await.unwrap();
    let table = world.table().await;
    assert!(table.ranges().is_empty() && table.is_alive("a", a.life()));
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_patience() {
    let world = World::new();
    let routes = Routes::follow(world.registry(), &Tasks::new());
    let never = partita_coordinator::Revision(1_000);
    assert!(
        routes
            .reached(never, Duration::from_secs(1))
            .await
            .is_none()
    );
}
