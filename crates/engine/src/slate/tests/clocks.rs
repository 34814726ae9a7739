//! Tests with a wall clock that is set back or forward, between two starts and in a running process.

use std::collections::BTreeSet;

use futures::TryStreamExt;
use futures::future::join_all;
use partita_rt::{Clock as _, ShiftedClock};
use slatedb::object_store::ObjectStore;
use slatedb::object_store::path::Path as ObjectPath;

use super::memory_home::World;
use super::*;

const CHILD: RangeId = RangeId(2);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const TWO_DAYS: Duration = Duration::from_secs(2 * 86_400);
/// From today to about the year 2100.
const DECADES: Duration = Duration::from_secs(74 * 365 * 86_400);

/// A time after which unused files can be collected: longer than the garbage age.
const LONG: Duration = Duration::from_secs(301);

/// Storage in memory, on a machine with this clock. The modification times of the object store are real times.
fn world(clock: &ShiftedClock) -> World {
    World {
        clock: Arc::new(clock.clone()),
        ..World::default()
    }
}

/// A world on a machine with this clock, and its first range.
async fn opened(clock: ShiftedClock) -> (ShiftedClock, World, One) {
    let world = world(&clock);
    let one = world.open().await;
    (clock, world, one)
}

/// Writes, flushes and compacts at once. If its clock were behind, SlateDB would wait for 10 s and then fail.
async fn serves(set: &SlateEngineSet, engine: &dyn Engine) {
    for value in ["1", "2"] {
        commit(engine, put("after", value)).await.unwrap();
        engine.flush().await.unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    let before = engine.file_layout().newest_rewritten;
    let is_compacted = |newest: Option<String>| newest.is_some() && newest != before;
    while !is_compacted(engine.file_layout().newest_rewritten) {
        assert!(Instant::now() < deadline, "{:?}", engine.file_layout());
        engine.detach().await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = engine.get(b"after").await.unwrap();
    assert_eq!(after.as_deref(), Some(b"2".as_ref()));
    assert_eq!(set.health(), Health::Healthy);
}

/// How a process ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Killed with rows that are only in the WAL.
    Logged,
    /// Killed with all rows in files.
    Flushed,
    /// Killed with all rows in one compacted file.
    Compacted,
    Closed,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_set_back_between_two_starts_delays_nothing() {
    let ends = [End::Logged, End::Flushed, End::Compacted, End::Closed];
    let lives = ends.into_iter().flat_map(|end| {
        [MINUTE, HOUR, TWO_DAYS, DECADES].map(|ahead| set_back_between_two_starts(end, ahead))
    });
    join_all(lives).await;
}

async fn set_back_between_two_starts(end: End, ahead: Duration) {
    let (clock, world, one) = opened(ShiftedClock::ahead(ahead)).await;
    assert_eq!(one.set.wall_clock_lag(), Duration::ZERO);
    let begun = clock.now();
    commit(&*one, put("before", "1")).await.unwrap();
    match end {
        End::Logged => {}
        End::Flushed => one.flush().await.unwrap(),
        End::Compacted => serves(&one.set, &*one).await,
        End::Closed => one.close().await,
    }
    drop(one);

    clock.set_ahead(Duration::ZERO);
    let one = world.open().await;
    assert!(one.set.newest_row_time() > begun, "{end:?} {ahead:?}");
    let lag = one.set.wall_clock_lag();
    let is_about = !lag.is_zero() && lag < ahead + MINUTE;
    assert!(is_about, "{end:?} {ahead:?} {lag:?}");
    serves(&one.set, &*one).await;
    let before = one.get(b"before").await.unwrap();
    assert_eq!(before.as_deref(), Some(b"1".as_ref()));
    one.close().await;
}

/// The times of a clone's sources count for the clone, even if the sources are not opened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_of_a_database_from_the_future_is_served() {
    let (clock, world, one) = opened(ShiftedClock::ahead(DECADES)).await;
    commit(&*one, put("before", "1")).await.unwrap();
    let whole = KeyPart {
        source: conformance::FIRST,
        range: KeyRange::all(),
    };
    one.set.clone_parts(CHILD, &[whole]).await.unwrap();
    drop(one);

    clock.set_ahead(Duration::ZERO);
    let set = world.start().await;
    let child = set.open(CHILD).await.unwrap();
    set.drop_unknown().await;
    serves(&set, &*child).await;
    assert!(child.get(b"before").await.unwrap().is_some());
    set.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_set_in_a_running_process_delays_nothing() {
    let (clock, world, one) = opened(ShiftedClock::default()).await;
    let start = clock.now();
    for ahead in [DECADES, Duration::ZERO, HOUR] {
        clock.set_ahead(ahead);
        serves(&one.set, &*one).await;
        assert_eq!(one.set.wall_clock_lag().is_zero(), ahead == DECADES);
    }
    assert!(one.set.newest_row_time() > start + DECADES);
    world.wal.fail_next_append(AppendFault::Lost);
    let unknown = commit(&*one, put("unknown", "1")).await;
    assert_eq!(unknown, Err(WriteError::Unknown));
    clock.set_ahead(Duration::ZERO);
    wait_for(&*one, Health::Healthy).await;
    serves(&one.set, &*one).await;
    one.close().await;
}

/// The names of the files in a folder of the first range's database.
async fn files(world: &World, folder: &str) -> BTreeSet<String> {
    let folder = format!("{}/{folder}", names::database_path(conformance::FIRST));
    let folder = ObjectPath::from(folder);
    let files: Vec<_> = world.store.list(Some(&folder)).try_collect().await.unwrap();
    let names = files.iter().filter_map(|file| file.location.filename());
    names.map(str::to_owned).collect()
}

/// The names of the data files that the first range reads.
async fn used(one: &One) -> BTreeSet<String> {
    let used = one.set.files(conformance::FIRST, None).await.unwrap();
    used.into_iter()
        .map(|file| format!("{}.sst", file.name))
        .collect()
}

/// Files written while the wall clock was ahead are collected once they have the garbage age, unless they are read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_from_the_future_is_collected() {
    for ahead in [HOUR, DECADES] {
        let (clock, world, one) = opened(ShiftedClock::ahead(ahead)).await;
        commit(&*one, put("before", "1")).await.unwrap();
        serves(&one.set, &*one).await;
        let used_before = used(&one).await;
        let garbage: BTreeSet<String> = files(&world, "compacted").await;
        let garbage: BTreeSet<String> = garbage.difference(&used_before).cloned().collect();
        assert!(!garbage.is_empty());
        one.close().await;
        drop(one);

        clock.set_ahead(Duration::ZERO);
        let one = world.open().await;
        commit(&*one, put("newest", "1")).await.unwrap();
        one.flush().await.unwrap();
        one.collect().await.unwrap();
        assert!(files(&world, "compacted").await.is_superset(&garbage));
        clock.advance(LONG);
        let deadline = Instant::now() + Duration::from_secs(30);
        while !files(&world, "compacted").await.is_disjoint(&garbage) {
            assert!(Instant::now() < deadline, "{ahead:?}");
            // Files that are newer than the newest flushed one are not collected, so each round flushes a new one.
            commit(&*one, put("newest", "2")).await.unwrap();
            one.flush().await.unwrap();
            one.collect().await.unwrap();
        }
        assert!(
            files(&world, "compacted")
                .await
                .is_superset(&used(&one).await)
        );
        assert_eq!(rows(&*one, KeyRange::all(), 10).await.len(), 3);
        one.close().await;
    }
}

/// Writes some manifests, which look old to the wall clock, and checks that they stay until they have the garbage age.
async fn manifests_stay_for_the_garbage_age(world: &World, clock: &ShiftedClock, one: &One) {
    for value in ["1", "2", "3"] {
        commit(&**one, put("key", value)).await.unwrap();
        one.flush().await.unwrap();
    }
    let made = files(world, "manifest").await;
    one.collect().await.unwrap();
    assert!(files(world, "manifest").await.is_superset(&made));
    clock.advance(LONG);
    // Makes a newer manifest, so that these manifests can be collected.
    commit(&**one, put("key", "4")).await.unwrap();
    one.flush().await.unwrap();
    one.collect().await.unwrap();
    assert!(files(world, "manifest").await.is_disjoint(&made));
    serves(&one.set, &**one).await;
}

/// If a manifest were deleted within seconds, a manifest with the same number could be written again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn young_manifests_stay_when_the_wall_clock_is_decades_behind() {
    let (clock, world, one) = opened(ShiftedClock::ahead(DECADES)).await;
    commit(&*one, put("before", "1")).await.unwrap();
    one.close().await;
    drop(one);
    clock.set_ahead(Duration::ZERO);
    let one = world.open().await;
    manifests_stay_for_the_garbage_age(&world, &clock, &one).await;
    one.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn young_manifests_stay_when_the_wall_clock_is_set_forward() {
    let (clock, world, one) = opened(ShiftedClock::default()).await;
    commit(&*one, put("before", "1")).await.unwrap();
    one.flush().await.unwrap();
    clock.set_ahead(HOUR);
    manifests_stay_for_the_garbage_age(&world, &clock, &one).await;
    one.close().await;
}
