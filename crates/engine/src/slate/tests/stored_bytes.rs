//! Tests that the counts of written and stored bytes agree with the files in the directory.

use std::collections::BTreeMap;

use super::*;
use crate::StoredBytes;

/// The sizes of the files with this suffix in a folder and the folders in it, by file name.
fn sizes(folder: &Path, suffix: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(sizes(&entry.path(), suffix));
        } else if name.ends_with(suffix) {
            found.insert(name, entry.metadata().unwrap().len());
        }
    }
    found
}

/// Waits until the files of the start are counted.
async fn wait_for_count(set: &SlateEngineSet) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while set.stats().stored.is_none() {
        assert!(Instant::now() < deadline, "the files are counted");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// An engine set in a directory.
struct World {
    directory: tempfile::TempDir,
    set: SlateEngineSet,
}

impl World {
    async fn open() -> Self {
        Self::open_in(tempfile::tempdir().unwrap()).await
    }

    /// Opens an engine set that deletes replaced files and removed databases early.
    async fn open_in(directory: tempfile::TempDir) -> Self {
        let data = Arc::new(DataDir::open(directory.path()).unwrap());
        let settings = Settings {
            garbage_age: Duration::from_secs(1),
            ..Settings::default()
        };
        let set = SlateEngineSet::new(data, settings).await.unwrap();
        Self { directory, set }
    }

    async fn reopen(self) -> Self {
        self.set.close().await;
        let Self { directory, set } = self;
        drop(set);
        Self::open_in(directory).await
    }

    fn data_files(&self) -> BTreeMap<String, u64> {
        sizes(&self.directory.path().join("store"), ".sst")
    }

    /// The counts of stored bytes, which must agree with the files in the directory.
    fn stored(&self) -> StoredBytes {
        let stored = self.set.stats().stored.unwrap();
        let files = self.data_files();
        let total: u64 = files.values().sum();
        assert_eq!(stored.live + stored.replaced, total, "{stored:?} {files:?}");
        let segments = sizes(&self.directory.path().join("log"), ".log");
        assert_eq!(stored.log, segments.values().sum::<u64>());
        stored
    }

    /// Commits ten batches and flushes them.
    async fn write_flushed(&self, engine: &dyn Engine, value: &str) {
        for number in 0..10_u8 {
            commit(engine, put(vec![number], value.repeat(1_000)))
                .await
                .unwrap();
        }
        engine.flush().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_agree_with_the_files() {
    let world = World::open().await;
    wait_for_count(&world.set).await;
    let engine = world.set.open(conformance::FIRST).await.unwrap();
    assert_eq!(world.stored().live, 0);
    assert_eq!(world.set.stats().write_amplification(), None);
    for value in ["a", "b", "c"] {
        world.write_flushed(&*engine, value).await;
    }
    let level0 = world.data_files();
    let level0_bytes: u64 = level0.values().sum();
    assert_eq!(level0.len(), 3);
    let stats = world.set.stats();
    let written = stats.written.unwrap();
    assert_eq!((written.flushes, written.compactions), (level0_bytes, 0));
    assert_eq!(
        (world.stored().live, world.stored().replaced),
        (level0_bytes, 0)
    );
    let row_bytes = 30 * 1_001;
    assert_eq!(stats.row_bytes(), row_bytes);
    let groups = row_bytes..row_bytes + 30 * 1_024;
    assert!(groups.contains(&written.log), "{written:?} {groups:?}");

    engine.detach().await.unwrap();
    let result = detaching::compacted_after(&*engine, None).await;
    let result_bytes = world.data_files()[&format!("{result}.sst")];
    let stats = world.set.stats();
    let written = stats.written.unwrap();
    assert_eq!(
        (written.flushes, written.compactions),
        (level0_bytes, result_bytes)
    );
    assert_eq!(
        (world.stored().live, world.stored().replaced),
        (result_bytes, level0_bytes)
    );
    let total = (written.log + level0_bytes + result_bytes) as f64;
    assert_eq!(stats.write_amplification(), Some(total / row_bytes as f64));

    // Garbage collection keeps the file of the last flush.
    world.write_flushed(&*engine, "d").await;
    let live_bytes = world.stored().live;
    assert!(live_bytes > result_bytes);
    let deadline = Instant::now() + Duration::from_secs(30);
    while world.stored().replaced > 0 {
        assert!(Instant::now() < deadline, "{:?}", world.data_files());
        tokio::time::sleep(Duration::from_millis(20)).await;
        engine.collect().await.unwrap();
    }
    assert_eq!(world.stored().live, live_bytes);
    drop(engine);

    let world = world.reopen().await;
    wait_for_count(&world.set).await;
    let engine = world.set.open(conformance::FIRST).await.unwrap();
    assert_eq!(
        (world.stored().live, world.stored().replaced),
        (live_bytes, 0)
    );
    let written = world.set.stats().written;
    assert_eq!(written.unwrap().total(), 0, "counts begin at the start");
    drop(engine);
    world.set.close().await;
}

/// Files that two ranges share count once, and the files of a removed database count until they leave the trash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_and_removed_files_are_counted() {
    let world = World::open().await;
    wait_for_count(&world.set).await;
    let source = conformance::FIRST;
    let parent = world.set.open(source).await.unwrap();
    world.write_flushed(&*parent, "a").await;
    let shared = world.stored().live;
    let whole = KeyPart {
        source,
        range: KeyRange::all(),
    };
    let child = RangeId(2);
    world.set.clone_parts(child, &[whole]).await.unwrap();
    let engine = world.set.open(child).await.unwrap();
    assert_eq!(world.stored().live, shared);
    parent.close().await;
    assert_eq!((world.stored().live, world.stored().replaced), (shared, 0));

    world.write_flushed(&*engine, "b").await;
    let own = world.stored().live - shared;
    assert!(own > 0);
    engine.close().await;
    let all_unlisted = (0, shared + own);
    assert_eq!((world.stored().live, world.stored().replaced), all_unlisted);
    assert_eq!(world.set.remove(child).await.unwrap(), Removal::Gone);
    assert_eq!((world.stored().live, world.stored().replaced), all_unlisted);
    let deadline = Instant::now() + Duration::from_secs(30);
    while world.stored().replaced > shared {
        assert!(Instant::now() < deadline, "{:?}", world.data_files());
        tokio::time::sleep(Duration::from_millis(20)).await;
        world.set.sweep_trash().await.unwrap();
    }
    assert_eq!(world.stored().replaced, shared);
    world.set.close().await;
}

/// During a recovery no database is open, so no file would count as live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_bytes_are_unknown_while_a_database_is_closed() {
    let world = World::open().await;
    wait_for_count(&world.set).await;
    let engine = world.set.open(conformance::FIRST).await.unwrap();
    world.write_flushed(&*engine, "a").await;
    let before = world.stored();
    let open = world.set.core.open_range(conformance::FIRST).unwrap();
    let database = open.take_database().unwrap();
    assert_eq!(world.set.stats().stored, None);
    open.set_database(database);
    assert_eq!(world.stored(), before);
    world.set.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn written_bytes_are_counted_over_a_recovery() {
    let (_directory, disk, engine) = faulty().await;
    commit(&*engine, put("before", "1")).await.unwrap();
    engine.flush().await.unwrap();
    let before = engine.stats().written.unwrap();
    assert!(before.log > 0 && before.flushes > 0, "{before:?}");
    disk.fail_next_sync(AppendFault::Lost);
    let lost = commit(&*engine, put("lost", "1")).await;
    assert_eq!(lost, Err(WriteError::Unknown));
    wait_for(&*engine, Health::Healthy).await;
    commit(&*engine, put("after", "1")).await.unwrap();
    let after = engine.stats().written.unwrap();
    assert!(after.log > before.log, "{before:?} {after:?}");
    assert!(after.flushes >= before.flushes, "{before:?} {after:?}");
    engine.close().await;
}
