//! Tests of splits and merges: no failure and no kill loses a row.

mod balancing;
mod damage;
mod deletion;
mod heat;
mod pins;

use crate::controller::RANGES_MAX;
use crate::test_world::{Disk, Dying, Gated, Hook, Hooked, delete, fill, ids, key, partition};
use crate::test_world::{put, rows};
use crate::{ChangeRefused, Cluster, LockError, MapStore, TRANSIT_WAIT};
use bytes::Bytes;
use futures::future::BoxFuture;
use partita_engine::{ChangeError, EngineSet, Health};
use partita_range::RangeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// A store with this number of rows, split into the ranges 2 and 3.
async fn split_store(rows: u32) -> (Disk, Arc<Cluster>) {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..rows).await;
    cluster.split(RangeId(1), None).await.unwrap();
    (disk, cluster)
}

#[tokio::test]
async fn a_split_and_a_merge_keep_every_row() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..100).await;
    let split = cluster.split(RangeId(1), None).await.unwrap();
    assert_eq!(ids(&cluster), [2, 3]);
    assert_eq!(split.at, partition(50));
    assert_eq!(rows(&cluster).await.len(), 100);
    put(&cluster, 10, "left").await.unwrap();
    put(&cluster, 90, "right").await.unwrap();
    put(&cluster, 100, "right").await.unwrap();
    let merged = cluster.merge(RangeId(2), RangeId(3)).await.unwrap();
    assert_eq!(merged.into, RangeId(4));
    let seen = rows(&cluster).await;
    assert_eq!(seen.len(), 101);
    assert_eq!(seen.get(&key(10)).unwrap(), "left");
    assert_eq!(seen.get(&key(90)).unwrap(), "right");
    assert_eq!(cluster.record().unwrap().ranges.len(), 1);
}

#[tokio::test]
async fn a_split_key_is_a_partition_start_inside_the_range() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..10).await;
    let inside_a_partition = key(4);
    let split = cluster
        .split(RangeId(1), Some(inside_a_partition))
        .await
        .unwrap();
    assert_eq!(split.at, partition(4));
    for outside in [partition(4), partition(7), Bytes::from_static(b"\x11t")] {
        let refused = cluster.split(RangeId(2), Some(outside)).await;
        assert!(matches!(
            refused,
            Err(ChangeRefused::KeyOutside(RangeId(2)))
        ));
    }
    let gone = cluster.split(RangeId(1), None).await;
    assert!(matches!(gone, Err(ChangeRefused::NoSuchRange(RangeId(1)))));
    let apart = cluster.merge(RangeId(3), RangeId(2)).await;
    assert!(matches!(apart, Err(ChangeRefused::NotNeighbours(..))));
}

#[tokio::test]
async fn a_single_partition_is_not_split() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    put(&cluster, 1, "x").await.unwrap();
    let refused = cluster.split(RangeId(1), None).await;
    assert!(
        matches!(refused, Err(ChangeRefused::NoSplitKey(_))),
        "{refused:?}"
    );
    put(&cluster, 1, "y").await.unwrap();
}

#[tokio::test]
async fn the_number_of_ranges_is_limited() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    let splits = u32::try_from(RANGES_MAX).unwrap() - 1;
    fill(&cluster, 0..splits + 2).await;
    let last = || RangeId(*ids(&cluster).last().unwrap());
    for number in 1..=splits {
        let at = Some(partition(number));
        cluster.split(last(), at).await.unwrap();
    }
    let more = cluster.split(last(), None).await;
    assert!(
        matches!(more, Err(ChangeRefused::TooManyRanges(RANGES_MAX))),
        "{more:?}"
    );
    let (a, b) = (RangeId(ids(&cluster)[0]), RangeId(ids(&cluster)[1]));
    cluster.merge(a, b).await.unwrap();
    cluster.split(last(), None).await.unwrap();
}

#[tokio::test]
async fn a_restart_opens_the_ranges_and_deletes_old_databases() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..30).await;
    cluster
        .split(RangeId(1), Some(partition(10)))
        .await
        .unwrap();
    cluster
        .split(RangeId(3), Some(partition(20)))
        .await
        .unwrap();
    disk.engines.restart().await;
    drop(cluster);
    let cluster = disk.open().await;
    assert_eq!(ids(&cluster), [2, 4, 5]);
    assert_eq!(rows(&cluster).await.len(), 30);
    cluster.delete_replaced().await;
    assert!(cluster.record().unwrap().pending_deletion.is_empty());
    let there = disk.engines.list().await.unwrap();
    assert_eq!(there, [RangeId(2), RangeId(4), RangeId(5)]);
    assert!(
        cluster
            .record()
            .unwrap()
            .ranges
            .iter()
            .map(|range| range.epoch.0)
            .is_sorted()
    );
}

/// A reader from before the split continues; the old engine closes after the reader ends.
#[tokio::test]
async fn readers_of_a_replaced_range_continue() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..10).await;
    let before = cluster.map().route(&key(3)).unwrap().range;
    cluster.split(RangeId(1), Some(partition(5))).await.unwrap();
    put(&cluster, 3, "second").await.unwrap();
    assert_eq!(before.engine().health(), Health::Healthy);
    assert_eq!(
        before.engine().get(&key(3)).await.unwrap().unwrap(),
        "first"
    );
    let engine = Arc::clone(before.engine());
    drop(before);
    while engine.health() != Health::Closed {
        tokio::task::yield_now().await;
    }
}

/// A split and a merge go on with the rows that the old ranges have cached.
#[tokio::test]
async fn cached_rows_survive_a_change() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..10).await;
    let hits = || cluster.memory().cache_stats().hits;
    let read = async || {
        let route = cluster.map().route(&key(3)).unwrap();
        route.range.get(&key(3)).await.unwrap().unwrap();
    };
    read().await;
    let split = cluster.split(RangeId(1), Some(partition(5))).await.unwrap();
    let before = hits();
    read().await;
    assert_eq!(hits(), before + 1, "after the split");
    cluster.merge(split.left, split.right).await.unwrap();
    read().await;
    assert_eq!(hits(), before + 2, "after the merge");
}

/// After a kill at any step of a split or merge, the next start serves every row, the ranges cover the key space
/// exactly once, and finally all unneeded databases are deleted.
#[tokio::test(start_paused = true)]
async fn a_change_survives_a_kill_at_every_step() {
    for merge in [false, true] {
        for does_the_last in [false, true] {
            let mut finished = false;
            for calls in 0..40 {
                finished = killed_after(calls, does_the_last, merge).await;
            }
            assert!(finished, "the last maintenance round ends");
        }
    }
}

/// Returns whether the change completed before the kill.
async fn killed_after(calls: i64, does_the_last: bool, merge: bool) -> bool {
    let disk = Disk::default();
    {
        let cluster = disk.open().await;
        fill(&cluster, 0..20).await;
        if merge {
            cluster
                .split(RangeId(1), Some(partition(10)))
                .await
                .unwrap();
        }
    }
    disk.engines.restart().await;
    let calls_left = Arc::new(AtomicI64::new(i64::MAX / 2));
    let dying = Arc::new(Dying {
        inner: Arc::clone(&disk.engines) as Arc<dyn EngineSet>,
        calls_left: Arc::clone(&calls_left),
        does_the_last,
    });
    let map = Arc::new(Dying {
        inner: Arc::clone(&disk.map) as Arc<dyn MapStore>,
        calls_left: Arc::clone(&calls_left),
        does_the_last,
    });
    let cluster = disk.open_with(dying, map).await.unwrap();
    calls_left.store(calls, Ordering::SeqCst);
    let change = async {
        if merge {
            cluster.merge(RangeId(2), RangeId(3)).await.map(|_| ())
        } else {
            cluster.split(RangeId(1), None).await.map(|_| ())
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), change).await;
    if let Ok(changed) = &ended {
        changed.as_ref().unwrap();
        put(&cluster, 5, "after").await.unwrap();
    }
    cluster.tasks().shut_down();
    drop(cluster);
    disk.engines.restart().await;

    let cluster = disk.open().await;
    assert_eq!(cluster.record().unwrap().change, None);
    let seen = rows(&cluster).await;
    assert_eq!(seen.len(), 20, "killed after {calls} calls");
    if ended.is_ok() {
        assert_eq!(seen.get(&key(5)).unwrap(), "after");
    }
    for number in 0..20 {
        put(&cluster, number, "again").await.unwrap();
    }
    cluster.delete_replaced().await;
    let served: Vec<RangeId> = ids(&cluster).into_iter().map(RangeId).collect();
    let mut served_sorted = served.clone();
    served_sorted.sort_unstable();
    assert_eq!(disk.engines.list().await.unwrap(), served_sorted);
    assert!(cluster.record().unwrap().pending_deletion.is_empty());
    ended.is_ok()
}

/// The store finishes the save of a dropped caller; the next job continues from that version.
#[tokio::test]
async fn a_maintenance_round_completes_after_its_caller_is_dropped() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..10).await;
    // An untracked pin: the next start releases it, so that the old range can be removed.
    disk.engines.pin(&[RangeId(1)]).await.unwrap();
    cluster.split(RangeId(1), None).await.unwrap();
    let late = cluster.tasks().drain(Duration::from_secs(5)).await;
    assert!(late.is_empty(), "{late:?}");
    disk.engines.restart().await;

    let map = Gated::new(&disk.map);
    let engines = Arc::clone(&disk.engines) as Arc<dyn EngineSet>;
    let cluster = disk.open_with(engines, map.clone()).await.unwrap();
    assert_eq!(cluster.record().unwrap().pending_deletion, [1]);
    map.is_open.send_replace(false);
    tokio::select! {
        () = cluster.maintain() => panic!("the save gets no response"),
        stored = map.stored.acquire() => stored.unwrap().forget(),
    }
    map.is_open.send_replace(true);
    cluster.split(RangeId(2), None).await.unwrap();
    assert!(!cluster.record().unwrap().pending_deletion.contains(&1));
}

#[tokio::test]
async fn a_failed_change_is_rolled_back() {
    let disk = Disk::default();
    let cluster = disk
        .open_hooked(Box::new(|| Box::pin(async { Err(ChangeError::Late) })))
        .await;
    fill(&cluster, 0..10).await;
    let refused = cluster.split(RangeId(1), None).await;
    assert!(
        matches!(refused, Err(ChangeRefused::Failed(_))),
        "{refused:?}"
    );
    put(&cluster, 3, "second").await.unwrap();
    assert_eq!(ids(&cluster), [1]);
    let record = cluster.record().unwrap();
    assert_eq!((record.change, record.pending_deletion), (None, vec![]));
    assert_eq!(record.next_range, 4, "ids are not reused");
    assert_eq!(disk.engines.list().await.unwrap(), [RangeId(1)]);
}

/// The disk fills while ranges are created: neither the change nor its rollback can be recorded.
#[tokio::test]
async fn a_rollback_is_recorded_once_the_disk_has_space() {
    for by_maintenance in [true, false] {
        let disk = Disk::default();
        let map = Gated::new(&disk.map);
        let fills = Arc::clone(&map.full);
        let hook: Hook = Box::new(move || {
            fills.store(true, Ordering::SeqCst);
            Box::pin(async { Ok(()) })
        });
        let engines = Hooked {
            cloned: hook,
            full: Arc::clone(&map.full),
            ..Hooked::new(&disk.engines)
        };
        let opened = disk.open_with(Arc::new(engines), map.clone()).await;
        let cluster = opened.unwrap();
        fill(&cluster, 0..10).await;
        let (left, right) = (RangeId(2), RangeId(3));
        for _ in 0..2 {
            let refused = cluster.split(RangeId(1), None).await;
            assert!(
                matches!(refused, Err(ChangeRefused::Failed(_))),
                "{refused:?}"
            );
            put(&cluster, 3, "second").await.unwrap();
            let made = cluster.record().unwrap().change.unwrap().created();
            assert_eq!(made, [left, right], "the second change did not start");
        }
        map.full.store(false, Ordering::SeqCst);
        if by_maintenance {
            cluster.maintain().await;
        } else {
            // The earlier change was rolled back before this one begins. This one fills the disk again.
            let refused = cluster.split(RangeId(1), None).await;
            refused.unwrap_err();
            let made = cluster.record().unwrap().change.unwrap().created();
            assert_eq!(made, [RangeId(4), RangeId(5)]);
            map.full.store(false, Ordering::SeqCst);
            cluster.maintain().await;
        }
        let record = cluster.record().unwrap();
        assert_eq!((record.change, record.pending_deletion), (None, vec![]));
        assert_eq!(disk.engines.list().await.unwrap(), [RangeId(1)]);
        assert_eq!(rows(&cluster).await.len(), 10);
    }
}

/// Writes during the creation of new ranges do not wait, and the new ranges contain them.
#[tokio::test(start_paused = true)]
async fn writes_during_a_change_are_in_the_new_ranges() {
    let (cloned, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let disk = Disk::default();
    let (noted, awaited) = (Arc::clone(&cloned), Arc::clone(&go_on));
    let hook = move || {
        let (noted, awaited) = (Arc::clone(&noted), Arc::clone(&awaited));
        let wait = async move {
            noted.add_permits(1);
            awaited.acquire().await.unwrap().forget();
            Ok(())
        };
        Box::pin(wait) as BoxFuture<'static, _>
    };
    let cluster = disk.open_hooked(Box::new(hook)).await;
    fill(&cluster, 0..10).await;
    let meanwhile = async |value: &str, made: u32| {
        let began = tokio::time::Instant::now();
        cloned.acquire_many(made).await.unwrap().forget();
        for number in [2, 7, 11] {
            put(&cluster, number, "overwritten").await.unwrap();
            put(&cluster, number, value).await.unwrap();
        }
        delete(&cluster, 3).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        go_on.add_permits(made as usize);
    };
    let at = Some(partition(5));
    let (split, ()) = tokio::join!(cluster.split(RangeId(1), at), meanwhile("split", 2));
    split.unwrap();
    put(&cluster, 3, "again").await.unwrap();
    let expected = |value: &'static str, third: Option<&'static str>| {
        let rows = (0..12).filter(|number| *number != 10);
        let rows = rows.filter_map(move |number| match number {
            2 | 7 | 11 => Some((key(number), Bytes::from(value))),
            3 => third.map(|third| (key(number), Bytes::from(third))),
            _ => Some((key(number), Bytes::from("first"))),
        });
        rows.collect::<BTreeMap<Bytes, Bytes>>()
    };
    assert_eq!(rows(&cluster).await, expected("split", Some("again")));
    let merging = cluster.merge(RangeId(2), RangeId(3));
    let (merged, ()) = tokio::join!(merging, meanwhile("merged", 1));
    merged.unwrap();
    assert_eq!(rows(&cluster).await, expected("merged", None));
}

#[tokio::test(start_paused = true)]
async fn writes_blocked_by_an_unrecorded_change_are_refused_in_time() {
    let disk = Disk::default();
    let calls_left = Arc::new(AtomicI64::new(i64::MAX / 2));
    let map = Arc::new(Dying {
        inner: Arc::clone(&disk.map) as Arc<dyn MapStore>,
        calls_left: Arc::clone(&calls_left),
        does_the_last: false,
    });
    let engines = Arc::clone(&disk.engines) as Arc<dyn EngineSet>;
    let cluster = disk.open_with(engines, map).await.unwrap();
    fill(&cluster, 0..10).await;
    calls_left.store(1, Ordering::SeqCst);
    let splitting = cluster.split(RangeId(1), None);
    tokio::select! {
        _ = splitting => panic!("it hangs"),
        () = tokio::time::sleep(Duration::from_millis(10)) => {}
    }
    let began = tokio::time::Instant::now();
    assert_eq!(put(&cluster, 3, "x").await, Err(LockError::InTransit));
    assert_eq!(began.elapsed(), TRANSIT_WAIT);
    let read = cluster
        .map()
        .route(&key(3))
        .unwrap()
        .range
        .get(&key(3))
        .await;
    assert_eq!(read.unwrap().unwrap(), "first", "reads go on");
}

/// During splits and merges, continuous writers lose no row and are never refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_continue_while_ranges_change() {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..200).await;
    let stop = Arc::new(AtomicI64::new(0));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4_u32 {
        let (cluster, stop) = (Arc::clone(&cluster), Arc::clone(&stop));
        writers.spawn(async move {
            let mut written = BTreeMap::new();
            let mut round = 0_u32;
            while stop.load(Ordering::Relaxed) == 0 {
                let number = (round * 7 % 50) * 4 + writer;
                put(&cluster, number, &format!("{writer}-{round}"))
                    .await
                    .unwrap();
                written.insert(key(number), format!("{writer}-{round}"));
                round += 1;
                tokio::task::yield_now().await;
            }
            written
        });
    }
    for round in 0..40_u32 {
        let ranges = cluster.map().ranges();
        let at = round as usize * 5 % ranges.len();
        if ranges.len() > 1 && round % 3 == 2 {
            let at = at.min(ranges.len() - 2);
            let (left, right) = (ranges[at].range.id(), ranges[at + 1].range.id());
            drop(ranges);
            cluster.merge(left, right).await.unwrap();
        } else {
            let id = ranges[at].range.id();
            drop(ranges);
            match cluster.split(id, None).await {
                Ok(_) | Err(ChangeRefused::NoSplitKey(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
    stop.store(1, Ordering::Relaxed);
    let seen = rows(&cluster).await;
    assert_eq!(seen.len(), 200);
    while let Some(written) = writers.join_next().await {
        for (key, value) in written.unwrap() {
            let row = cluster
                .map()
                .route(&key)
                .unwrap()
                .range
                .get(&key)
                .await
                .unwrap();
            assert_eq!(row.unwrap(), value);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_change_does_not_block_writes() {
    let disk = Disk::default();
    let cluster = disk
        .open_hooked(Box::new(|| Box::pin(std::future::pending())))
        .await;
    fill(&cluster, 0..10).await;
    let splitting = cluster.split(RangeId(1), None);
    tokio::select! {
        _ = splitting => panic!("it hangs"),
        () = tokio::time::sleep(Duration::from_millis(10)) => {}
    }
    let began = tokio::time::Instant::now();
    put(&cluster, 3, "y").await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}
