//! Tests of snapshots: their rows, the files they keep, and atomicity under kills.

pub(crate) mod world;

use crate::{
    SNAPSHOTS_MAX, SnapshotError, SnapshotInfo, SnapshotName, SnapshotReader, SnapshotStore,
    Snapshots,
};
use bytes::Bytes;
use partita_cluster::test_world::{
    CREATE_MAX, Dying, fill, ids, key, partition, pin_count, put, rows, wait_for_deletion,
};
use partita_cluster::{
    ChangeRefused, Cluster, Host, Lead, LocalCoordinator, MapStore, SharedParts,
};
use partita_engine::EngineSet;
use partita_model::DateTime;
use partita_range::RangeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use world::{Disturbed, Opened, World, open_directory};

fn name(text: &str) -> SnapshotName {
    text.parse().unwrap()
}

fn now() -> DateTime {
    DateTime::parse("2026-11-21T03:00:00Z").unwrap()
}

async fn all(reader: &SnapshotReader) -> BTreeMap<Bytes, Bytes> {
    let mut scan = reader.scan(&Bytes::new(), None);
    let (mut found, mut last) = (BTreeMap::new(), None);
    loop {
        let page = scan.next(7, usize::MAX).await.unwrap();
        if page.is_empty() {
            return found;
        }
        for (key, row) in page {
            assert!(last.as_ref() < Some(&key), "keys are in order");
            last = Some(key.clone());
            found.insert(key, row);
        }
    }
}

#[tokio::test]
async fn a_snapshot_keeps_its_rows_after_changes_of_its_ranges() {
    let world = World::new();
    let store = world.open().await;
    fill(&store.cluster, 0..30).await;
    store
        .cluster
        .split(RangeId(1), Some(partition(10)))
        .await
        .unwrap();
    let before = rows(&store.cluster).await;
    wait_for_deletion(&store.cluster, &[]).await;
    let taken = store.snapshots.create(name("a"), now()).await.unwrap();
    assert_eq!(taken.record.ranges.len(), 2);
    assert_eq!(
        taken.record.map_version,
        store.cluster.record().unwrap().version
    );

    fill(&store.cluster, 30..40).await;
    put(&store.cluster, 3, "second").await.unwrap();
    store
        .cluster
        .split(RangeId(3), Some(partition(20)))
        .await
        .unwrap();
    let merged = store.cluster.merge(RangeId(2), RangeId(4)).await.unwrap();
    put(&store.cluster, 12, "third").await.unwrap();
    let reader = store.snapshots.read(&name("a")).await.unwrap();
    assert_eq!(all(&reader).await, before);
    let mut some = reader.scan(&key(8), Some(&key(12)));
    let rows_of_some = [
        some.next(100, usize::MAX).await.unwrap(),
        some.next(100, usize::MAX).await.unwrap(),
    ];
    assert_eq!(rows_of_some.map(|rows| rows.len()).iter().sum::<usize>(), 4);
    let busy = store.snapshots.delete(name("a")).await;
    assert!(matches!(busy, Err(SnapshotError::InUse(_))), "{busy:?}");
    drop((reader, some));

    // The databases of the old ranges remain only because of the snapshot.
    wait_for_deletion(&store.cluster, &[2, 3]).await;
    world.disk.engines.restart().await;
    drop(store);
    let store = world.open().await;
    assert!(ids(&store.cluster).contains(&merged.into.0));
    store.cluster.release_pins().await;
    let reader = store.snapshots.read(&name("a")).await.unwrap();
    assert_eq!(all(&reader).await, before);
    drop(reader);
    store.snapshots.delete(name("a")).await.unwrap();
    assert_eq!(pin_count(&*world.disk.engines).await, 0);
    assert!(store.cluster.record().unwrap().pending_deletion.is_empty());
    let gone = store.snapshots.read(&name("a")).await;
    assert!(matches!(gone, Err(SnapshotError::NoSuchSnapshot(_))));
    let gone = store.snapshots.delete(name("a")).await;
    assert!(matches!(gone, Err(SnapshotError::NoSuchSnapshot(_))));
}

/// A split that hangs while it creates ranges does not block snapshot reads; a deletion waits at most [`CREATE_MAX`].
#[tokio::test(start_paused = true)]
async fn a_hanging_change_times_out() {
    let world = World::new();
    let hook = Box::new(|| Box::pin(std::future::pending()) as _);
    let store = world.start(world.disk.open_hooked(hook).await);
    fill(&store.cluster, 0..10).await;
    store.snapshots.create(name("a"), now()).await.unwrap();
    let before = rows(&store.cluster).await;
    let mut splitting = store.cluster.split(RangeId(1), None);
    let hangs = tokio::time::timeout(Duration::from_millis(10), &mut splitting).await;
    hangs.unwrap_err();
    let began = tokio::time::Instant::now();
    let reader = store.snapshots.read(&name("a")).await.unwrap();
    assert_eq!(all(&reader).await, before);
    assert_eq!(began.elapsed(), Duration::ZERO, "reading does not wait");
    drop(reader);
    store.snapshots.delete(name("a")).await.unwrap();
    assert!(began.elapsed() <= CREATE_MAX);
    let refused = splitting.await;
    assert!(
        matches!(refused, Err(ChangeRefused::Failed(_))),
        "{refused:?}"
    );
    assert_eq!(store.cluster.record().unwrap().change, None);
    put(&store.cluster, 3, "after").await.unwrap();
    wait_for_deletion(&store.cluster, &[]).await;
    assert_eq!(world.disk.engines.list().await.unwrap(), [RangeId(1)]);
}

#[tokio::test]
async fn a_snapshot_in_deletion_cannot_be_opened() {
    let world = World::new();
    let (open, asked) = (watch::Sender::new(false), Arc::new(Semaphore::new(0)));
    let (is_open, asks) = (open.subscribe(), Arc::clone(&asked));
    let records = Arc::new(Disturbed {
        before_delete: Box::new(move || {
            asks.add_permits(1);
            let mut is_open = is_open.clone();
            Box::pin(async move { drop(is_open.wait_for(|is_open| *is_open).await.unwrap()) })
        }),
        ..Disturbed::calm(world.records.clone())
    });
    let cluster = world.disk.open().await;
    let snapshots = Snapshots::start(Arc::clone(&cluster), records);
    let store = Opened { cluster, snapshots };
    fill(&store.cluster, 0..10).await;
    for snapshot in ["a", "b"] {
        let created = store.snapshots.create(name(snapshot), now()).await;
        created.unwrap();
    }
    let deleting = store.snapshots.delete(name("a"));
    let reading = async {
        asked.acquire().await.unwrap().forget();
        let refused = store.snapshots.read(&name("a")).await;
        assert!(matches!(refused, Err(SnapshotError::NoSuchSnapshot(_))));
        store.snapshots.read(&name("b")).await.unwrap();
        open.send_replace(true);
    };
    let (deleted, ()) = tokio::join!(deleting, reading);
    deleted.unwrap();
}

#[tokio::test]
async fn delete_later_deletes_a_snapshot_after_its_last_reader() {
    let world = World::new();
    let store = world.open().await;
    let taken = store.snapshots.create(name("a"), now()).await.unwrap();
    let reader = store.snapshots.read(&name("a")).await.unwrap();
    store.snapshots.delete_later(&taken.record);
    store.snapshots.maintain().await;
    assert_eq!(store.snapshots.list().await.unwrap().len(), 1);
    drop(reader);
    store.snapshots.maintain().await;
    assert_eq!(store.snapshots.list().await.unwrap(), []);
    store.snapshots.create(name("a"), now()).await.unwrap();
    store.snapshots.delete_later(&taken.record);
    store.snapshots.maintain().await;
    assert_eq!(
        store.snapshots.list().await.unwrap().len(),
        1,
        "another one"
    );
}

#[tokio::test]
async fn names_are_unique_and_the_number_of_snapshots_is_limited() {
    let world = World::new();
    let store = world.open().await;
    for number in 0..SNAPSHOTS_MAX {
        let name = name(&format!("s{number}"));
        store.snapshots.create(name, now()).await.unwrap();
    }
    let taken = store.snapshots.create(name("s7"), now()).await;
    assert!(matches!(taken, Err(SnapshotError::Exists(_))));
    let more = store.snapshots.create(name("more"), now()).await;
    assert!(matches!(more, Err(SnapshotError::TooMany)));
    assert_eq!(store.snapshots.list().await.unwrap().len(), SNAPSHOTS_MAX);
    assert_eq!(pin_count(&*world.disk.engines).await, SNAPSHOTS_MAX);
    store.snapshots.delete(name("s7")).await.unwrap();
    store.snapshots.create(name("more"), now()).await.unwrap();
}

/// After a kill at any step of a creation or deletion, the next start has the complete snapshot or no trace of it.
#[tokio::test(start_paused = true)]
async fn a_kill_at_any_step_leaves_a_whole_snapshot_or_none() {
    for delete in [false, true] {
        for does_the_last in [false, true] {
            let mut seen = [0; 2];
            for calls in 0..24 {
                let is_there = killed_after(calls, does_the_last, delete).await;
                seen[usize::from(is_there)] += 1;
            }
            assert!(
                seen[0] > 0 && seen[1] > 0,
                "{seen:?}: kills at early and at late steps have different outcomes"
            );
        }
    }
}

/// Creates or deletes a snapshot, and kills the server after some calls. Checks that the snapshot is complete or does
/// not exist after the next start, and returns whether it exists.
async fn killed_after(calls: i64, does_the_last: bool, delete: bool) -> bool {
    let world = World::new();
    let calls_left = Arc::new(AtomicI64::new(i64::MAX / 2));
    let dying = Arc::new(Dying {
        inner: Arc::clone(&world.disk.engines) as Arc<dyn EngineSet>,
        calls_left: Arc::clone(&calls_left),
        does_the_last,
    });
    let map = Arc::new(Dying {
        inner: Arc::clone(&world.disk.map) as Arc<dyn MapStore>,
        calls_left: Arc::clone(&calls_left),
        does_the_last,
    });
    let records = Arc::new(Dying {
        inner: world.records.clone() as Arc<dyn SnapshotStore>,
        calls_left: Arc::clone(&calls_left),
        does_the_last,
    });
    let cluster = world.disk.open_with(dying, map).await.unwrap();
    let snapshots = Snapshots::start(Arc::clone(&cluster), records);
    let store = Opened { cluster, snapshots };
    fill(&store.cluster, 0..20).await;
    store.cluster.split(RangeId(1), None).await.unwrap();
    let before = rows(&store.cluster).await;
    if delete {
        store.snapshots.create(name("a"), now()).await.unwrap();
    }
    calls_left.store(calls, Ordering::SeqCst);
    let change = async {
        match delete {
            true => store.snapshots.delete(name("a")).await,
            false => store.snapshots.create(name("a"), now()).await.map(|_| ()),
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), change).await;
    if let Ok(changed) = &ended {
        changed.as_ref().unwrap();
    }
    store.cluster.tasks().shut_down();
    drop(store);
    world.disk.engines.restart().await;

    let store = world.open().await;
    store.cluster.maintain().await;
    put(&store.cluster, 3, "after").await.unwrap();
    let listed = store.snapshots.list().await.unwrap();
    if ended.is_ok() {
        assert_eq!(listed.is_empty(), delete);
    }
    match listed.as_slice() {
        [] => assert_eq!(
            pin_count(&*world.disk.engines).await,
            0,
            "killed after {calls} calls"
        ),
        [_] => {
            assert_eq!(pin_count(&*world.disk.engines).await, 2);
            let reader = store.snapshots.read(&name("a")).await.unwrap();
            assert_eq!(all(&reader).await, before);
        }
        more => panic!("{more:?}"),
    }
    !listed.is_empty()
}

/// Each writer writes a row of the left range and, after the acknowledgment, the same value to a row of the right
/// range. During splits and merges, every value on the right side of a snapshot is also on its left side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshots_under_load_and_range_changes_show_one_instant() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_directory(directory.path()).await;
    fill(&store.cluster, 0..200).await;
    let halved = store.cluster.split(RangeId(1), Some(partition(100)));
    halved.await.unwrap();
    let stop = Arc::new(AtomicI64::new(0));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4_u32 {
        let (cluster, stop) = (Arc::clone(&store.cluster), Arc::clone(&stop));
        writers.spawn(async move {
            let mut round = 0;
            while stop.load(Ordering::Relaxed) == 0 {
                for number in [writer, 100 + writer] {
                    // Repeats a write that was refused because a change took too long.
                    while put(&cluster, number, &format!("{round:09}")).await.is_err() {}
                }
                round += 1;
            }
            round
        });
    }
    for round in 0..4 {
        let taken = async {
            let first = name(&format!("s{round}"));
            match store.snapshots.create(first.clone(), now()).await {
                // On a busy machine a snapshot can time out beside a change.
                Err(SnapshotError::Failed(_)) => None,
                taken => taken.map(|_| Some(first)).unwrap(),
            }
        };
        let (changed, taken) = tokio::join!(change(&store.cluster, round), taken);
        // A change can time out, too, and is rolled back.
        assert!(matches!(changed, Ok(()) | Err(ChangeRefused::Failed(_))));
        let taken = match taken {
            Some(taken) => taken,
            None => {
                let second = name(&format!("s{round}-again"));
                store.snapshots.create(second.clone(), now()).await.unwrap();
                second
            }
        };
        let reader = store.snapshots.read(&taken).await.unwrap();
        let seen = all(&reader).await;
        assert_eq!(seen.len(), 200);
        for writer in 0..4 {
            let (left, right) = (&seen[&key(writer)], &seen[&key(100 + writer)]);
            let (left, right) = (version(left), version(right));
            assert!(left == right || left == right + 1, "{left} and {right}");
        }
    }
    stop.store(1, Ordering::Relaxed);
    while let Some(rounds) = writers.join_next().await {
        assert!(rounds.unwrap() > 0);
    }
    store.cluster.close().await;
}

/// The round that wrote a row, from 1; 0 for the initial row.
fn version(row: &Bytes) -> i64 {
    let text = std::str::from_utf8(row).unwrap();
    text.parse::<i64>().map_or(0, |round| round + 1)
}

/// Splits the first range, or merges the first two.
async fn change(cluster: &Cluster, round: u32) -> Result<(), ChangeRefused> {
    let ids = ids(cluster);
    match ids.get(1) {
        Some(right) if round % 2 == 1 => {
            let merging = cluster.merge(RangeId(ids[0]), RangeId(*right));
            merging.await.map(|_| ())
        }
        _ => cluster.split(RangeId(ids[0]), None).await.map(|_| ()),
    }
}

/// `own_bytes` counts the files that only one snapshot needs. An unreadable record blocks only the release of untracked
/// pins, until it is deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bytes_that_only_a_snapshot_needs_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_directory(directory.path()).await;
    let engines = Arc::clone(store.cluster.engines());
    fill(&store.cluster, 0..100).await;
    let first = store.snapshots.create(name("first"), now()).await.unwrap();
    assert!(first.record.bytes > 0);
    let listed = store.snapshots.list().await.unwrap();
    assert_eq!(listed[0].own_bytes, 0, "the range reads the same files");
    store.snapshots.create(name("second"), now()).await.unwrap();
    let range = store.cluster.map().ranges()[0].range.clone();
    fill(&store.cluster, 0..100).await;
    range.engine().flush().await.unwrap();
    range.engine().detach().await.unwrap();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while range.engine().file_layout().files > 1 {
        assert!(tokio::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    let own = |listed: &[SnapshotInfo]| {
        listed
            .iter()
            .map(|snapshot| snapshot.own_bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        own(&store.snapshots.list().await.unwrap()),
        [0, 0],
        "they share it"
    );
    store.snapshots.delete(name("second")).await.unwrap();
    let only = own(&store.snapshots.list().await.unwrap());
    assert_eq!(only, [first.record.bytes]);

    std::fs::write(directory.path().join("store/snapshots/first.json"), "{").unwrap();
    store.cluster.suspect_pins();
    store.cluster.release_pins().await;
    assert_eq!(engines.pins(RangeId(1)).await.unwrap().len(), 1);
    // The unreadable record blocks no other operation, and can be deleted like any other.
    let refused = store.snapshots.create(name("first"), now()).await;
    assert!(
        matches!(refused, Err(SnapshotError::Exists(_))),
        "{refused:?}"
    );
    let refused = store.snapshots.read(&name("first")).await;
    let told = refused.err().unwrap().to_string();
    assert!(told.contains("snapshots/first.json"), "{told}");
    store.snapshots.create(name("third"), now()).await.unwrap();
    store.snapshots.read(&name("third")).await.unwrap();
    assert_eq!(store.snapshots.list().await.unwrap().len(), 1);
    let unreadable = store.snapshots.unreadable().await.unwrap();
    assert_eq!(unreadable[0].object, "snapshots/first.json");
    store.snapshots.delete(name("first")).await.unwrap();
    assert_eq!(store.snapshots.unreadable().await.unwrap(), []);
    assert_eq!(engines.pins(RangeId(1)).await.unwrap().len(), 2);
    store.cluster.release_pins().await;
    assert_eq!(engines.pins(RangeId(1)).await.unwrap().len(), 1);
    store.snapshots.read(&name("third")).await.unwrap();
    store.snapshots.delete(name("third")).await.unwrap();
    store.cluster.close().await;
}

/// A manager whose lease ends while it stores a record deletes the record: the next manager may have released its pins.
#[tokio::test]
async fn a_deposed_manager_leaves_no_snapshot() {
    let world = World::new();
    let is_lease_valid = Arc::new(AtomicBool::new(true));
    let lease = Arc::clone(&is_lease_valid);
    let shared = SharedParts {
        is_lease_valid: Arc::new(move || lease.load(Ordering::SeqCst)),
        before_serving: Arc::new(|_| {}),
        targets: None,
    };
    let cluster = Cluster::join(world.disk.parts(), shared);
    let hosts = Arc::clone(cluster.local_host()) as Arc<dyn Host>;
    let coordinator = Arc::new(LocalCoordinator::default());
    let lead = Lead::begin(Arc::clone(&cluster), coordinator, hosts, 1).await;
    let lead = lead.unwrap();
    let lease = Arc::clone(&is_lease_valid);
    let records = Arc::new(Disturbed {
        before_save: Box::new(move || lease.store(false, Ordering::SeqCst)),
        ..Disturbed::calm(world.records.clone())
    });
    let snapshots = Snapshots::start(Arc::clone(&cluster), records);
    for already in [false, true] {
        is_lease_valid.store(!already, Ordering::SeqCst);
        let refused = snapshots.create(name("a"), now()).await;
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("does not manage the ranges"), "{text}");
        let stored = world.records.list().await.unwrap();
        assert!(stored.records.is_empty(), "{stored:?}");
    }
    lead.give_up().await;
}
