//! Saving the history to a store, and loading it.

use super::*;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use partita_rt::DataDir;
use std::sync::Arc;

fn archive(store: &Arc<InMemory>) -> Archive {
    Archive::new(
        Arc::clone(store) as Arc<dyn ObjectStore>,
        Path::from("heat"),
    )
}

async fn objects(store: &dyn ObjectStore) -> Vec<(Path, u64)> {
    let folder = Path::from("heat");
    let listing = store.list_with_delimiter(Some(&folder)).await.unwrap();
    let objects = listing.objects.into_iter();
    objects
        .map(|object| (object.location, object.size))
        .collect()
}

#[tokio::test]
async fn a_day_with_restarts_equals_a_day_without() {
    let (mut world, reference) = (World::new(), HeatHistory::new());
    let store = Arc::new(InMemory::new());
    let mut archive_now = archive(&store);
    let mut history = archive_now.load(world.clock.now()).await;
    for count in 1..=9_000 {
        world.step(&[&reference, &history]);
        if count % 6 == 0 {
            archive_now.save(&history, world.clock.now()).await.unwrap();
        }
        if count % 601 == 0 {
            archive_now
                .save_all(&history, world.clock.now())
                .await
                .unwrap();
            archive_now = archive(&store);
            history = archive_now.load(world.clock.now()).await;
            assert_eq!(all_slots(&history), all_slots(&reference), "{count}");
            let objects = objects(&*store).await;
            assert!(objects.len() < 155, "{} objects", objects.len());
            assert!(archive_now.segments.len() <= objects.len());
        }
    }
    assert_eq!(all_slots(&history), all_slots(&reference));
    let bytes: u64 = objects(&*store).await.iter().map(|(_, bytes)| bytes).sum();
    assert!(bytes < 4 << 20, "{bytes} bytes");
}

#[tokio::test]
async fn a_day_of_64_busy_ranges_stays_within_its_bounds() {
    let (clock, history) = (clock(), HeatHistory::new());
    let store = Arc::new(InMemory::new());
    let mut archive = archive(&store);
    let counts = Counts {
        reads: 12_345,
        writes: 2_345,
        rows_scanned: 65_432,
        rows_written: 4_321,
        bytes_in: 3_456_789,
        bytes_out: 45_678_901,
        throttled: 12,
    };
    let us: Vec<u64> = (0..1_000).map(|at| 20 << (at % 9)).collect();
    let mut busy = window(counts, latency(&us));
    busy.partitions = (0..PARTITIONS_MAX)
        .map(|number| PartitionWindow {
            partition: format!(" account tableid8partition-{number:06}").into(),
            counts,
            latency: us.iter().fold(CoarseLatency::new(), |mut sum, us| {
                sum.add(*us, 3);
                sum
            }),
        })
        .collect();
    let key = |number: u32| Bytes::from(format!(" account tableid8partition-{number:06}"));
    // Counts differ from window to window, so that they compress little.
    let mut state = 1_u64;
    let mut varied = |counts: &Counts| {
        let mut vary = |count: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            count + (state >> 32) % count
        };
        Counts {
            reads: vary(counts.reads),
            writes: vary(counts.writes),
            rows_scanned: vary(counts.rows_scanned),
            rows_written: vary(counts.rows_written),
            bytes_in: vary(counts.bytes_in),
            bytes_out: vary(counts.bytes_out),
            throttled: vary(counts.throttled),
        }
    };
    let mut windows = vec![busy; 64];
    let mut record = || {
        for window in &mut windows {
            window.counts = varied(&counts);
            for partition in &mut window.partitions {
                partition.counts = window.counts;
            }
        }
        let ranges = (0..).zip(&windows).map(|(number, window)| RangeWindow {
            bounds: Bounds {
                start: key(number),
                end: (number < 63).then(|| key(number + 1)),
            },
            window,
        });
        history.record(clock.now(), &ranges.collect::<Vec<_>>());
    };
    let (mut memory, mut bytes) = (0, 0);
    // Records only the last window of each slot that is coarser at the end of the day: this gives the same number of
    // slots in less time.
    for minute in 0..24 * 60 {
        for part in 0..6 {
            clock.advance(WINDOW);
            if minute >= 22 * 60 || part == 5 && (minute >= 18 * 60 || minute % 5 == 4) {
                record();
            }
        }
        archive.save(&history, clock.now()).await.unwrap();
        if minute % 7 == 0 {
            memory = memory.max(history.memory_bytes());
            let objects = objects(&*store).await;
            bytes = bytes.max(objects.iter().map(|(_, bytes)| bytes).sum());
        }
    }
    assert!(
        (17 << 20..20 << 20).contains(&memory),
        "{memory} bytes of memory"
    );
    assert!(
        (1 << 20..4 << 20).contains(&bytes),
        "{bytes} bytes in the store"
    );
}

#[tokio::test]
async fn a_killed_server_loses_at_most_one_minute() {
    let mut world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let disk = DataDir::open(folder.path()).unwrap();
    let on_disk = || {
        let store = disk.store();
        Archive::new(store, Path::from("heat"))
    };
    let mut archive = on_disk();
    let history = archive.load(world.clock.now()).await;
    let (mut early, mut early_bytes) = (Vec::new(), Vec::new());
    for count in 1..=911 {
        world.step(&[&history]);
        if count % 6 == 0 {
            archive.save(&history, world.clock.now()).await.unwrap();
        }
        if count == 120 {
            early = objects(&*disk.store()).await;
            for (path, _) in &early {
                let bytes = disk.store().get(path).await.unwrap().bytes().await;
                early_bytes.push(bytes.unwrap());
            }
        }
    }
    // An hour was rewritten coarser, and its minute segments reappear, as if their deletion had failed.
    let kept = objects(&*disk.store()).await;
    for ((path, _), bytes) in early.iter().zip(early_bytes) {
        assert!(!kept.iter().any(|(other, _)| other == path));
        disk.store().put(path, bytes.into()).await.unwrap();
    }
    let mut archive = on_disk();
    let loaded = archive.load(world.clock.now()).await;
    world.check_sums(&loaded, 0..906);
    let whole = loaded.map(world.time(0), world.clock.now(), shape(Metric::Requests));
    assert!((sum(&whole) - world.total(0..906, Metric::Requests) as f64).abs() < 1e-3);
    // No slots are left to write, and obsolete segments are deleted.
    let pending = loaded.with(|tiers| archive.pending(tiers, Time::MAX).puts.len());
    assert_eq!(pending, 0);
    archive.save(&loaded, world.clock.now()).await.unwrap();
    let sorted = |mut objects: Vec<(Path, u64)>| {
        objects.sort();
        objects
    };
    assert_eq!(sorted(objects(&*disk.store()).await), sorted(kept));
}

#[tokio::test]
async fn slots_of_a_failed_save_are_saved_later() {
    for pause in [30, 700, 2_900] {
        let (mut world, reference) = (World::new(), HeatHistory::new());
        let folder = tempfile::tempdir().unwrap();
        let disk = DataDir::open(folder.path()).unwrap();
        let store: Arc<dyn ObjectStore> = disk.store();
        let mut archive = Archive::new(Arc::clone(&store), Path::from("heat"));
        let history = archive.load(world.clock.now()).await;
        // A file at the path of the folder makes writes fail.
        let blocker = Path::from("heat");
        store.put(&blocker, "in the way".into()).await.unwrap();
        for count in 1..=pause {
            world.step(&[&reference, &history]);
            if count % 60 == 0 {
                let saved = archive.save(&history, world.clock.now()).await;
                assert!(matches!(saved, Err(SaveError::Store(_))), "{saved:?}");
            }
        }
        store.delete(&blocker).await.unwrap();
        archive.save_all(&history, world.clock.now()).await.unwrap();
        let mut again = Archive::new(store, Path::from("heat"));
        let loaded = again.load(world.clock.now()).await;
        assert_eq!(all_slots(&loaded), all_slots(&reference), "{pause}");
        world.check_sums(&loaded, 0..pause);
    }
}

/// Load that is recorded while a save is running is not lost: the save at shutdown writes it.
#[tokio::test]
async fn load_recorded_during_a_save_is_in_the_next_save() {
    let (mut world, history) = (World::new(), HeatHistory::new());
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn ObjectStore> = DataDir::open(folder.path()).unwrap().store();
    let mut archive = Archive::new(Arc::clone(&store), Path::from("heat"));
    for _ in 0..6 {
        world.step(&[&history]);
    }
    let now = world.clock.now();
    let mut saving = Box::pin(archive.save(&history, now));
    assert!(futures::poll!(saving.as_mut()).is_pending());
    let window = reads(7);
    let range = RangeWindow {
        bounds: Bounds {
            start: Bytes::new(),
            end: None,
        },
        window: &window,
    };
    history.record(now + std::time::Duration::from_secs(1), &[range]);
    saving.await.unwrap();
    archive.save_all(&history, now).await.unwrap();
    let mut again = Archive::new(store, Path::from("heat"));
    let loaded = again.load(now).await;
    assert_eq!(all_slots(&loaded), all_slots(&history));
}

#[tokio::test]
async fn unreadable_segments_are_skipped() {
    let (mut world, history) = (World::new(), HeatHistory::new());
    let store = Arc::new(InMemory::new());
    let mut first = archive(&store);
    for count in 1..=60 {
        world.step(&[&history]);
        if count % 6 == 0 {
            first.save(&history, world.clock.now()).await.unwrap();
        }
    }
    first.save_all(&history, world.clock.now()).await.unwrap();
    let names = objects(&*store).await;
    assert_eq!(names.len(), 10);
    let bytes_of = async |at: usize| {
        store
            .get(&names[at].0)
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap()
    };
    // The third segment is damaged, the fifth has a later version, the seventh is empty; the last object is not a
    // segment.
    let mut damaged = bytes_of(2).await.to_vec();
    damaged[40] ^= 1;
    let mut later = zstd::bulk::decompress(&bytes_of(4).await, 1 << 20).unwrap();
    later[0] += 1;
    let later = zstd::bulk::compress(&later, 1).unwrap();
    for (at, bytes) in [(2, damaged), (4, later), (6, Vec::new())] {
        store.put(&names[at].0, bytes.into()).await.unwrap();
    }
    let foreign = Path::from("heat/notes.txt");
    store.put(&foreign, "mine".into()).await.unwrap();

    let mut second = archive(&store);
    let loaded = second.load(world.clock.now()).await;
    assert_eq!(second.unreadable.len(), 3);
    // Each segment is a minute: six windows.
    let map = loaded.map(world.time(0), world.clock.now(), shape(Metric::Requests));
    let lost = [12..18, 24..30, 36..42].map(|part| world.total(part, Metric::Requests));
    let left = world.total(0..60, Metric::Requests) - lost.iter().sum::<u64>();
    assert!((sum(&map) - left as f64).abs() < 1e-3);
    // Saves continue: a day later all these segments are deleted, but the foreign object is not.
    for count in 1..=8_700 {
        world.step(&[&loaded]);
        if count % 30 == 0 {
            second.save(&loaded, world.clock.now()).await.unwrap();
        }
    }
    let left = objects(&*store).await;
    assert!(
        left.iter()
            .all(|(path, _)| !names.iter().any(|(old, _)| old == path))
    );
    assert!(left.iter().any(|(path, _)| *path == foreign));
}
