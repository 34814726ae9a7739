//! Changes of ranges whose server dies, or is asked by another manager, meanwhile.

use super::world::{Fate, World};
use crate::error::HostError;
use crate::host::{HandOverError, Host as _, RangeAction};
use crate::manager::Manager;
use crate::map::{MapRecord, save_and_confirm};
use crate::member::messages::HostRequest;
use crate::test_world::{key, partition, put};
use futures::FutureExt;
use partita_coordinator::{self as registry, Table};
use partita_engine::EngineSet;
use partita_range::RangeId;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// The only range of a new store, and those that its split creates.
const WHOLE: RangeId = RangeId(1);
const PARTS: [RangeId; 2] = [RangeId(2), RangeId(3)];

/// Servers, of which the second has the only range of a new store.
async fn world_of_one_range() -> World {
    let world = World::without_ranges().await;
    let map = MapRecord::first();
    save_and_confirm(&*world.disk.map, &map).await.unwrap();
    world.assign_to(&map.spec(WHOLE).unwrap(), 1).await;
    world
}

fn owner(table: &Table, range: RangeId) -> Option<String> {
    let key = table.ranges().get(&registry::RangeId(range.0))?;
    Some(key.record.owner()?.name.clone())
}

/// The server of a range, as soon as it serves.
async fn server(world: &World, range: RangeId, accept: impl Fn(&str) -> bool) -> usize {
    let serving = |table: &Table| {
        let key = table.ranges().get(&registry::RangeId(range.0))?;
        let owner = &key.record.owner()?.name;
        (key.record.is_served_by(owner) && accept(owner)).then(|| owner.clone())
    };
    let is_served = |table: &Table| serving(table).is_some();
    let table = world.routes.wait_for(LONG, is_served).await.unwrap();
    let name = serving(&table).unwrap();
    let number: usize = name.strip_prefix("server-").unwrap().parse().unwrap();
    number - 1
}

/// Waits in virtual time until something is true, for at most [`LONG`].
async fn until(is_true: impl Fn() -> bool) {
    let polling = async {
        while !is_true() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, polling).await.unwrap();
}

fn run(manager: &Arc<Manager>) -> impl Future<Output = ()> + use<> {
    let running = Arc::clone(manager);
    async move { running.run().await.unwrap() }
}

/// A server decides a split, and its lease ends before the manager knows. If the old range were assigned to another server, that
/// one would take over its rows, and the new ranges would lack them.
#[tokio::test(start_paused = true)]
async fn a_range_is_not_assigned_while_its_split_is_undecided() {
    let world = world_of_one_range().await;
    let manager = world.manager().await;
    let splitting = async {
        put(&world.servers[1].cluster, 5, "left").await.unwrap();
        put(&world.servers[1].cluster, 15, "right").await.unwrap();
        world.choose(|_, request| {
            let fate = match request {
                HostRequest::Change { .. } => Fate::AnsweredLate(LONG),
                _ => Fate::Answered,
            };
            async move { fate }.boxed()
        });
        let cluster = &world.servers[0].cluster;
        until(|| cluster.record().is_some()).await;
        let mut split = pin!(cluster.split(WHOLE, Some(partition(10))));
        let decided = until(|| world.servers[1].cluster.map().find(PARTS[0]).is_some());
        tokio::select! {
            split = &mut split => panic!("the manager knows of it: {split:?}"),
            () = decided => {}
        }
        world.leave(1).await;
        world.servers[1].cluster.local_host().stop_serving();
        for part in PARTS {
            world.disk.engines.hand_over(part).await.unwrap();
        }
        split.await.unwrap_err();
    };
    // The version of the map that undoes the split conflicts with that of the server.
    tokio::join!(run(&manager), splitting);
    let table = world.routes.current();
    assert_eq!(owner(&table, WHOLE).as_deref(), Some("server-2"));

    manager.give_up().await.unwrap();
    let next = world.manager().await;
    let reading = async {
        for (range, number, value) in [(PARTS[0], 5, "left"), (PARTS[1], 15, "right")] {
            let at = server(&world, range, |name| name != "server-2").await;
            let cluster = &world.servers[at].cluster;
            let key = key(number);
            let route = cluster.map().route(&key).unwrap();
            let found = route.range.engine().get(&key).await.unwrap();
            assert_eq!(found.as_deref(), Some(value.as_bytes()));
        }
    };
    tokio::select! {
        () = run(&next) => panic!("the term is not over"),
        () = reading => {}
    }
}

/// An earlier manager asks to freeze a range that is being split. The end of that freeze would let in writes that the new ranges
/// lack.
#[tokio::test(start_paused = true)]
async fn a_range_that_is_being_split_is_not_frozen() {
    let world = world_of_one_range().await;
    let manager = world.manager().await;
    let splitting = async {
        let (cluster, server) = (&world.servers[0].cluster, &world.servers[1].cluster);
        put(server, 15, "right").await.unwrap();
        until(|| cluster.record().is_some()).await;
        let asked = Arc::new(AtomicBool::new(false));
        let change = Arc::clone(&asked);
        world.choose(move |_, request| {
            change.fetch_or(
                matches!(request, HostRequest::Change { .. }),
                Ordering::Relaxed,
            );
            async { Fate::Answered }.boxed()
        });
        // A write that is not committed yet keeps the split waiting.
        let locked = server.map().lock(&[key(5)]).await.unwrap();
        let mut split = pin!(cluster.split(WHOLE, Some(partition(10))));
        let freezing = async {
            until(|| asked.load(Ordering::Relaxed)).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            let freeze = RangeAction::Freeze(Duration::from_millis(1));
            server.local_host().act(WHOLE, freeze).await
        };
        tokio::select! {
            split = &mut split => panic!("the split does not wait: {split:?}"),
            frozen = freezing => assert!(matches!(frozen, Err(HostError::Busy(WHOLE))), "{frozen:?}"),
        }
        drop(locked);
        split.await.unwrap();
    };
    tokio::select! {
        () = run(&manager) => panic!("the term is over"),
        () = splitting => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_frozen_range_is_not_handed_over() {
    let world = world_of_one_range().await;
    let host = world.servers[1].cluster.local_host();
    let mut freezing = pin!(host.act(WHOLE, RangeAction::Freeze(LONG)));
    assert!(futures::poll!(freezing.as_mut()).is_pending());
    let refused = host.hand_over(WHOLE).await.unwrap_err();
    assert!(matches!(refused, HandOverError::Busy(_)), "{refused}");
    freezing.await.unwrap();
    host.hand_over(WHOLE).await.unwrap();
}
