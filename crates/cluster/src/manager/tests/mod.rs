//! Pins of the ranges of several servers: they show one instant, and a failure leaves neither pins nor waiting writes.

mod changes;
mod targets;
mod upgrade;
mod world;

use super::cut::HOLD_MAX;
use crate::member::messages::HostRequest;
use crate::test_world::put;
use futures::FutureExt;
use partita_engine::{ChangeError, EngineSet, KeyRange, PinId, ScanHint};
use partita_range::RangeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use world::{Fate, RANGES, World, row};

fn is_hold(request: &HostRequest) -> bool {
    matches!(request, HostRequest::Hold { .. })
}

fn is_cut(request: &HostRequest) -> bool {
    matches!(request, HostRequest::Cut { .. })
}

/// The value of a row in a pin, as a number; 0 without the row.
async fn pinned_value(world: &World, range: RangeId, pin: &PinId) -> u64 {
    let pinned = world.disk.engines.open_pin(range, pin).await.unwrap();
    let scan = pinned.scan(KeyRange::all(), ScanHint::walk()).await;
    let rows = scan.unwrap().next(10, usize::MAX).await.unwrap();
    let value = rows.get(0).map(|(_, value)| value.to_vec());
    value.map_or(0, |value| {
        String::from_utf8(value).unwrap().parse().unwrap()
    })
}

/// Writes a number to the row of each range.
async fn put_all(world: &World, value: u64) {
    for (server, range) in world.servers.iter().zip(RANGES) {
        put(&server.cluster, row(range, 0), &value.to_string())
            .await
            .unwrap();
    }
}

/// Fails unless writes of all ranges are acknowledged within the longest hold.
async fn check_writes(world: &World) {
    let began = Instant::now();
    put_all(world, u64::MAX).await;
    assert!(began.elapsed() <= HOLD_MAX, "{:?}", began.elapsed());
}

/// A writer counts in the ranges of three servers, one after the other: a range has a number only after the range before
/// it acknowledged that number. Requests and answers of the manager take all kinds of times.
#[tokio::test(start_paused = true)]
async fn pins_of_several_servers_show_one_instant() {
    let world = World::start().await;
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    world.choose(move |_, _| {
        let asked = asked.fetch_add(1, Ordering::Relaxed);
        let time = |milliseconds| Duration::from_millis(milliseconds);
        let fate = match asked % 7 {
            0 | 3 => Fate::Late(time(5)),
            1 => Fate::AnsweredLate(time(7)),
            2 | 5 => Fate::Late(time(1)),
            _ => Fate::Answered,
        };
        async move { fate }.boxed()
    });
    let (writing, stopping) = (Arc::clone(&world), Arc::clone(&stop));
    let writer = partita_rt::Tasks::new().spawn("writer", async move {
        let mut number = 0;
        while !stopping.load(Ordering::Relaxed) {
            number += 1;
            put_all(&writing, number).await;
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        number
    });
    let mut seen = Vec::new();
    for pause in 0..40 {
        let pinned = world.pin().await.unwrap();
        let mut values = Vec::new();
        for (range, pin) in RANGES.iter().zip(&pinned.pins) {
            values.push(pinned_value(&world, *range, pin).await);
        }
        assert!(
            values.is_sorted_by(|before, after| before >= after),
            "{values:?}"
        );
        assert!(values[0] - values[2] <= 1, "{values:?}");
        seen.push(values[0]);
        tokio::time::sleep(Duration::from_micros(137 * pause)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let written = writer.await.unwrap();
    assert!(
        seen.is_sorted() && seen[39] > seen[0] && seen[39] <= written,
        "{seen:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_between_the_phases_fails_the_cut() {
    let world = World::start().await;
    put_all(&world, 1).await;
    world.choose(|server, request| {
        let fate = match server == "server-2" && is_cut(&request) {
            true => Fate::Lost,
            false => Fate::Answered,
        };
        async move { fate }.boxed()
    });
    let error = world.pin().await.unwrap_err().to_string();
    assert!(error.contains("server server-2"), "{error}");
    assert_eq!(world.pin_count().await, 0);
    // The lost server is held until its limit, and goes on.
    check_writes(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_dies_between_the_phases_leaves_nothing_held() {
    let world = World::start().await;
    put_all(&world, 1).await;
    world.choose(|_, request| {
        async move {
            match is_cut(&request) {
                true => std::future::pending().await,
                false => Fate::Answered,
            }
        }
        .boxed()
    });
    let pinning = tokio::time::timeout(HOLD_MAX / 2, world.pin()).await;
    pinning.unwrap_err();
    check_writes(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_a_hold_fails_the_attempt_and_the_second_succeeds() {
    let world = World::start().await;
    put_all(&world, 1).await;
    let holds = AtomicUsize::new(0);
    world.choose(move |server, request| {
        let late =
            server == "server-3" && is_hold(&request) && holds.fetch_add(1, Ordering::Relaxed) == 0;
        let fate = match late {
            true => Fate::AnsweredLate(HOLD_MAX),
            false => Fate::Answered,
        };
        async move { fate }.boxed()
    });
    let pinned = world.pin().await.unwrap();
    assert_eq!(pinned.pins.len(), 3);
    assert_eq!(world.pin_count().await, 3);
    check_writes(&world).await;
}

/// A cut that arrives when the hold has ended makes no pin, and those of the other servers are released.
#[tokio::test(start_paused = true)]
async fn a_cut_after_the_end_of_a_hold_makes_no_pin() {
    let world = World::start().await;
    put_all(&world, 1).await;
    world.choose(|server, request| {
        let fate = match server == "server-3" && is_cut(&request) {
            true => Fate::Late(HOLD_MAX),
            false => Fate::Answered,
        };
        async move { fate }.boxed()
    });
    let error = world.pin().await.unwrap_err();
    assert!(matches!(error, ChangeError::Elsewhere(_)), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("server-3") && error.contains("held for too long"),
        "{error}"
    );
    assert_eq!(world.pin_count().await, 0);
    check_writes(&world).await;
}

/// A pin whose answer was lost is not known to the manager: maintenance finds it.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_cut_fails_the_cut() {
    let world = World::start().await;
    world.choose(|server, request| {
        let fate = match server == "server-2" && is_cut(&request) {
            true => Fate::AnswerLost,
            false => Fate::Answered,
        };
        async move { fate }.boxed()
    });
    world.pin().await.unwrap_err();
    let left = world.disk.engines.pins(RANGES[1]).await.unwrap();
    assert_eq!((left.len(), world.pin_count().await), (2, 2));
    check_writes(&world).await;
}

/// A range moves after the manager has looked up its server: the second attempt pins it at the new one.
#[tokio::test(start_paused = true)]
async fn a_range_that_moves_during_the_cut_is_pinned_at_its_new_server() {
    let world = World::start().await;
    put_all(&world, 1).await;
    let (moving, holds) = (Arc::downgrade(&world), Arc::new(AtomicUsize::new(0)));
    world.choose(move |server, request| {
        let (moving, holds) = (moving.clone(), Arc::clone(&holds));
        async move {
            if server == "server-2"
                && is_hold(&request)
                && holds.fetch_add(1, Ordering::Relaxed) == 0
            {
                let world = moving.upgrade().unwrap();
                let handed_over = world.servers[1].ranges.hand_over(RANGES[1]).await;
                handed_over.unwrap();
                world.assign(RANGES[1], 2).await;
            }
            Fate::Answered
        }
        .boxed()
    });
    let pinned = world.pin().await.unwrap();
    assert_eq!(pinned_value(&world, RANGES[1], &pinned.pins[1]).await, 1);
    assert_eq!(world.pin_count().await, 3);
    put(&world.servers[2].cluster, row(RANGES[1], 0), "2")
        .await
        .unwrap();
}

/// A server that does not serve a range when it holds refuses, although the registry lists it as the owner.
#[tokio::test(start_paused = true)]
async fn a_range_that_its_server_has_lost_is_not_pinned() {
    let world = World::start().await;
    world.servers[1].cluster.local_host().stop_serving();
    let error = world.pin().await.unwrap_err().to_string();
    assert!(error.contains("range 2 is not served here"), "{error}");
    assert_eq!(world.pin_count().await, 0);
    for server in [0, 2] {
        let cluster = &world.servers[server].cluster;
        put(cluster, row(RANGES[server], 0), "2").await.unwrap();
    }
}
