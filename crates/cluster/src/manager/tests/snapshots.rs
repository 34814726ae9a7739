//! Snapshots: what they show, what they keep, and that a kill leaves all of one or nothing.

use super::*;
use crate::manager::change::MAKING_MAX;
use crate::manager::snapshots::STRAY_ROUNDS_BETWEEN;
use crate::snapshot::SnapshotReader;
use object_store::{ObjectStore, ObjectStoreExt};
use partita_engine::slate::{Settings, SlateDatabases};
use partita_model::DateTime;
use partita_rt::DataDir;

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

/// The pins of all databases.
async fn pin_count(databases: &dyn Databases) -> usize {
    let mut count = 0;
    for range in databases.list().await.unwrap() {
        count += databases.pins(range).await.unwrap().len();
    }
    count
}

/// Waits until no databases of old ranges are left but these.
async fn settle(manager: &Manager, orphans: &[u64]) {
    loop {
        let mut there = manager.record().orphans;
        there.sort_unstable();
        if there == orphans {
            return;
        }
        manager.remove_orphans().await;
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_snapshot_shows_what_was_whatever_becomes_of_its_ranges() {
    let disk = Disk::new();
    let manager = disk.open().await;
    fill(&manager, 0..30).await;
    manager
        .split(RangeId(1), Some(partition(10)))
        .await
        .unwrap();
    let before = rows(&manager).await;
    settle(&manager, &[]).await;
    let taken = manager.create_snapshot(name("a"), now()).await.unwrap();
    assert_eq!(taken.record.ranges.len(), 2);
    assert_eq!(taken.record.map_version, manager.record().version);

    fill(&manager, 30..40).await;
    put(&manager, 3, "second").await.unwrap();
    manager
        .split(RangeId(3), Some(partition(20)))
        .await
        .unwrap();
    let merged = manager.merge(RangeId(2), RangeId(4)).await.unwrap();
    put(&manager, 12, "third").await.unwrap();
    let reader = manager.read_snapshot(&name("a")).await.unwrap();
    assert_eq!(all(&reader).await, before);
    let mut some = reader.scan(&key(8), Some(&key(12)));
    let rows_of_some = [
        some.next(100, usize::MAX).await.unwrap(),
        some.next(100, usize::MAX).await.unwrap(),
    ];
    assert_eq!(rows_of_some.concat().len(), 4);
    let busy = manager.delete_snapshot(name("a")).await;
    assert!(matches!(busy, Err(SnapshotError::InUse(_))), "{busy:?}");
    drop((reader, some));

    // The old ranges are gone but for the snapshot.
    settle(&manager, &[2, 3]).await;
    disk.databases.restart().await;
    drop(manager);
    let manager = disk.open().await;
    assert!(ids(&manager).contains(&merged.into.0));
    manager.unpin_strays().await;
    let reader = manager.read_snapshot(&name("a")).await.unwrap();
    assert_eq!(all(&reader).await, before);
    drop(reader);
    manager.delete_snapshot(name("a")).await.unwrap();
    assert_eq!(pin_count(&*disk.databases).await, 0);
    assert!(manager.record().orphans.is_empty());
    let gone = manager.read_snapshot(&name("a")).await;
    assert!(matches!(gone, Err(SnapshotError::NoSuchSnapshot(_))));
    let gone = manager.delete_snapshot(name("a")).await;
    assert!(matches!(gone, Err(SnapshotError::NoSuchSnapshot(_))));
}

/// A disk that fills while ranges are made keeps nobody from reading a snapshot, nor for long from deleting one.
#[tokio::test(start_paused = true)]
async fn a_change_that_hangs_is_given_up() {
    let disk = Disk::new();
    let manager = disk
        .open_hooked(Box::new(|| Box::pin(std::future::pending())))
        .await;
    fill(&manager, 0..10).await;
    manager.create_snapshot(name("a"), now()).await.unwrap();
    let before = rows(&manager).await;
    let mut splitting = manager.split(RangeId(1), None);
    let hangs = tokio::time::timeout(Duration::from_millis(10), &mut splitting).await;
    hangs.unwrap_err();
    let began = tokio::time::Instant::now();
    let reader = manager.read_snapshot(&name("a")).await.unwrap();
    assert_eq!(all(&reader).await, before);
    assert_eq!(began.elapsed(), Duration::ZERO, "it waits for nobody");
    drop(reader);
    manager.delete_snapshot(name("a")).await.unwrap();
    assert!(began.elapsed() <= MAKING_MAX);
    let refused = splitting.await;
    assert!(
        matches!(refused, Err(ChangeRefused::Failed(_))),
        "{refused:?}"
    );
    assert_eq!(manager.record().change, None);
    put(&manager, 3, "after").await.unwrap();
    settle(&manager, &[]).await;
    assert_eq!(disk.databases.list().await.unwrap(), [RangeId(1)]);
}

#[tokio::test]
async fn a_snapshot_that_is_being_deleted_is_not_opened() {
    let disk = Disk::new();
    let map = Gated::new(&disk.map);
    let databases = Arc::clone(&disk.databases) as Arc<dyn Databases>;
    let manager = disk.open_with(databases, map.clone()).await.unwrap();
    fill(&manager, 0..10).await;
    for snapshot in ["a", "b"] {
        manager
            .create_snapshot(name(snapshot), now())
            .await
            .unwrap();
    }
    map.is_open.send_replace(false);
    map.stored.forget_permits(map.stored.available_permits());
    let deleting = manager.delete_snapshot(name("a"));
    let reading = async {
        map.stored.acquire().await.unwrap().forget();
        let refused = manager.read_snapshot(&name("a")).await;
        assert!(matches!(refused, Err(SnapshotError::NoSuchSnapshot(_))));
        manager.read_snapshot(&name("b")).await.unwrap();
        map.is_open.send_replace(true);
    };
    let (deleted, ()) = tokio::join!(deleting, reading);
    deleted.unwrap();
}

#[tokio::test]
async fn a_snapshot_that_is_left_to_tending_goes_once_nobody_reads_it() {
    let disk = Disk::new();
    let manager = disk.open().await;
    let taken = manager.create_snapshot(name("a"), now()).await.unwrap();
    let reader = manager.read_snapshot(&name("a")).await.unwrap();
    manager.delete_snapshot_later(&taken.record);
    manager.tend().await;
    assert_eq!(manager.snapshots().await.unwrap().len(), 1);
    drop(reader);
    manager.tend().await;
    assert_eq!(manager.snapshots().await.unwrap(), []);
    manager.create_snapshot(name("a"), now()).await.unwrap();
    manager.delete_snapshot_later(&taken.record);
    manager.tend().await;
    assert_eq!(manager.snapshots().await.unwrap().len(), 1, "another one");
}

/// A pin that nobody came to know of, made long after what asked for it was given up.
#[tokio::test]
async fn stray_pins_are_looked_for_every_hour() {
    let disk = Disk::new();
    let manager = disk.open().await;
    manager.create_snapshot(name("kept"), now()).await.unwrap();
    manager.unpin_strays().await;
    disk.databases.pin(&[RangeId(1)]).await.unwrap();
    manager.unpin_strays().await;
    assert_eq!(pin_count(&*disk.databases).await, 2);
    for _ in 0..STRAY_ROUNDS_BETWEEN {
        manager.unpin_strays().await;
    }
    assert_eq!(pin_count(&*disk.databases).await, 1);
}

#[tokio::test]
async fn a_name_is_taken_once_and_there_are_only_so_many() {
    let disk = Disk::new();
    let manager = disk.open().await;
    for number in 0..SNAPSHOTS_MAX {
        let name = name(&format!("s{number}"));
        manager.create_snapshot(name, now()).await.unwrap();
    }
    let taken = manager.create_snapshot(name("s7"), now()).await;
    assert!(matches!(taken, Err(SnapshotError::Exists(_))));
    let more = manager.create_snapshot(name("more"), now()).await;
    assert!(matches!(more, Err(SnapshotError::TooMany)));
    assert_eq!(manager.snapshots().await.unwrap().len(), SNAPSHOTS_MAX);
    assert_eq!(pin_count(&*disk.databases).await, SNAPSHOTS_MAX);
    manager.delete_snapshot(name("s7")).await.unwrap();
    manager.create_snapshot(name("more"), now()).await.unwrap();
}

/// Wherever the process is killed while a snapshot is taken, or deleted, the next start has it whole, or has nothing of it.
#[tokio::test(start_paused = true)]
async fn a_snapshot_survives_a_kill_at_every_step_or_leaves_nothing() {
    for delete in [false, true] {
        for does_the_last in [false, true] {
            let mut seen = [0; 2];
            for calls in 0..24 {
                let is_there = killed_after(calls, does_the_last, delete).await;
                seen[usize::from(is_there)] += 1;
            }
            assert!(
                seen[0] > 0 && seen[1] > 0,
                "{seen:?}: some before and some after"
            );
        }
    }
}

/// Whether there was a snapshot in the end.
async fn killed_after(calls: i64, does_the_last: bool, delete: bool) -> bool {
    let disk = Disk::new();
    let calls_left = Arc::new(AtomicI64::new(i64::MAX / 2));
    let dying = Arc::new(Dying {
        inner: Arc::clone(&disk.databases) as Arc<dyn Databases>,
        calls_left: Arc::clone(&calls_left),
        does_the_last,
    });
    let map = Arc::new(Dying {
        inner: Arc::clone(&disk.map) as Arc<dyn MapStore>,
        calls_left: Arc::clone(&calls_left),
        does_the_last,
    });
    let manager = disk.open_with(dying, map).await.unwrap();
    fill(&manager, 0..20).await;
    manager.split(RangeId(1), None).await.unwrap();
    let before = rows(&manager).await;
    if delete {
        manager.create_snapshot(name("a"), now()).await.unwrap();
    }
    calls_left.store(calls, Ordering::SeqCst);
    let change = async {
        match delete {
            true => manager.delete_snapshot(name("a")).await,
            false => manager.create_snapshot(name("a"), now()).await.map(|_| ()),
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), change).await;
    if let Ok(changed) = &ended {
        changed.as_ref().unwrap();
    }
    manager.tasks.shut_down();
    drop(manager);
    disk.databases.restart().await;

    let manager = disk.open().await;
    manager.tend().await;
    put(&manager, 3, "after").await.unwrap();
    let listed = manager.snapshots().await.unwrap();
    if ended.is_ok() {
        assert_eq!(listed.is_empty(), delete);
    }
    match listed.as_slice() {
        [] => assert_eq!(
            pin_count(&*disk.databases).await,
            0,
            "killed after {calls} calls"
        ),
        [_] => {
            assert_eq!(pin_count(&*disk.databases).await, 2);
            let reader = manager.read_snapshot(&name("a")).await.unwrap();
            assert_eq!(all(&reader).await, before);
        }
        more => panic!("{more:?}"),
    }
    !listed.is_empty()
}

/// Each writer writes to a row of the left range and then, once that is answered, the same to one of the right range. Whatever is
/// split and merged meanwhile, a snapshot has nothing on the right that it has not on the left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshots_are_of_one_instant_while_ranges_change_under_load() {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let store = data.store();
    let databases = SlateDatabases::new(data, Settings::default())
        .await
        .unwrap();
    let databases = Arc::new(databases) as Arc<dyn Databases>;
    let map = Arc::new(ObjectMapStore::new(store)) as Arc<dyn MapStore>;
    let opened = Manager::open(Arc::clone(&databases), Arc::default(), map, Tasks::new()).await;
    let manager = opened.unwrap();
    fill(&manager, 0..200).await;
    manager
        .split(RangeId(1), Some(partition(100)))
        .await
        .unwrap();
    let stop = Arc::new(AtomicI64::new(0));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4_u32 {
        let (manager, stop) = (Arc::clone(&manager), Arc::clone(&stop));
        writers.spawn(async move {
            let mut round = 0;
            while stop.load(Ordering::Relaxed) == 0 {
                for number in [writer, 100 + writer] {
                    // A write that waited too long for a change was not done.
                    while put(&manager, number, &format!("{round:09}")).await.is_err() {}
                }
                round += 1;
            }
            round
        });
    }
    for round in 0..4 {
        let name = name(&format!("s{round}"));
        let (changed, taken) = tokio::join!(
            change(&manager, round),
            manager.create_snapshot(name.clone(), now())
        );
        // On a busy machine one takes too long, and is undone.
        assert!(matches!(changed, Ok(()) | Err(ChangeRefused::Failed(_))));
        taken.unwrap();
        let reader = manager.read_snapshot(&name).await.unwrap();
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
    databases.close().await;
}

/// The round that wrote a row, from 1; 0 for the row that was there before.
fn version(row: &Bytes) -> i64 {
    let text = std::str::from_utf8(row).unwrap();
    text.parse::<i64>().map_or(0, |round| round + 1)
}

/// Splits the first range, or merges the first two.
async fn change(manager: &Arc<Manager>, round: u32) -> Result<(), ChangeRefused> {
    let ids = ids(manager);
    match ids.get(1) {
        Some(right) if round % 2 == 1 => {
            let merging = manager.merge(RangeId(ids[0]), RangeId(*right));
            merging.await.map(|_| ())
        }
        _ => manager.split(RangeId(ids[0]), None).await.map(|_| ()),
    }
}

/// What a snapshot alone keeps is counted, and a record that cannot be read takes nothing away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_a_snapshot_keeps_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let store: Arc<dyn ObjectStore> = data.store();
    let databases = SlateDatabases::new(data, Settings::default())
        .await
        .unwrap();
    let databases = Arc::new(databases) as Arc<dyn Databases>;
    let map = Arc::new(ObjectMapStore::new(Arc::clone(&store))) as Arc<dyn MapStore>;
    let opened = Manager::open(Arc::clone(&databases), Arc::default(), map, Tasks::new()).await;
    let manager = opened.unwrap();
    fill(&manager, 0..100).await;
    let first = manager.create_snapshot(name("first"), now()).await.unwrap();
    assert!(first.record.bytes > 0);
    let listed = manager.snapshots().await.unwrap();
    assert_eq!(listed[0].own_bytes, 0, "the range reads the same files");
    manager
        .create_snapshot(name("second"), now())
        .await
        .unwrap();
    let range = manager.map().ranges()[0].range.clone();
    fill(&manager, 0..100).await;
    range.engine().flush().await.unwrap();
    range.engine().rewrite().await.unwrap();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while range.engine().shape().files > 1 {
        assert!(tokio::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    let own = |listed: &[Listed]| {
        listed
            .iter()
            .map(|snapshot| snapshot.own_bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        own(&manager.snapshots().await.unwrap()),
        [0, 0],
        "they share it"
    );
    manager.delete_snapshot(name("second")).await.unwrap();
    let only = own(&manager.snapshots().await.unwrap());
    assert_eq!(only, [first.record.bytes]);

    let broken = object_store::path::Path::from("snapshots/first.json");
    store.put(&broken, "{".into()).await.unwrap();
    manager.stray_rounds.store(1, Ordering::Relaxed);
    manager.unpin_strays().await;
    assert_eq!(databases.pins(RangeId(1)).await.unwrap().len(), 1);
    // It stands in nobody's way, and can be deleted as the others.
    let refused = manager.create_snapshot(name("first"), now()).await;
    assert!(
        matches!(refused, Err(SnapshotError::Exists(_))),
        "{refused:?}"
    );
    let refused = manager.read_snapshot(&name("first")).await;
    let told = refused.err().unwrap().to_string();
    assert!(told.contains("snapshots/first.json"), "{told}");
    manager.create_snapshot(name("third"), now()).await.unwrap();
    manager.read_snapshot(&name("third")).await.unwrap();
    assert_eq!(manager.snapshots().await.unwrap().len(), 1);
    let unreadable = manager.unreadable_snapshots().await.unwrap();
    assert_eq!(unreadable[0].object, "snapshots/first.json");
    manager.delete_snapshot(name("first")).await.unwrap();
    assert_eq!(manager.unreadable_snapshots().await.unwrap(), []);
    assert_eq!(databases.pins(RangeId(1)).await.unwrap().len(), 2);
    manager.unpin_strays().await;
    assert_eq!(databases.pins(RangeId(1)).await.unwrap().len(), 1);
    manager.read_snapshot(&name("third")).await.unwrap();
    manager.delete_snapshot(name("third")).await.unwrap();
    databases.close().await;
}
