mod both_readers;
mod clocks;
mod compared;
mod damage;
mod detaching;
mod log_length;
mod memory_home;
mod remote_home;
mod shared_sizes;
mod shared_store;
mod stored_bytes;
mod stored_files;
mod stored_manifest;
mod trash;

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::path::Path;

use bytes::Bytes;
use partita_rt::DataDir;
use partita_wal::AppendFault;
use partita_wal::local::{FaultyDisk, LocalStorage, Options};
use proptest::prelude::*;
use slatedb::compactor::{CompactionSpec, SourceId};
use slatedb::config::CheckpointOptions;
use tokio::time::Instant;

use super::*;
use crate::conformance::strategy::steps;
use crate::conformance::{self, commit, put, rows};
use crate::{
    ChangeError, Collected, Engine, EngineSet, Health, KeyPart, KeyRange, OpenError, RangeId,
    ReadError, Refusal, Removal, ScanHint, Stats, WriteError,
};

/// Bytes of a segment in tests that use [`set_on`].
const SEGMENT_BYTES: u64 = 64 << 10;

/// An engine set with its first range open.
struct One {
    set: SlateEngineSet,
    engine: Arc<dyn Engine>,
}

impl std::ops::Deref for One {
    type Target = dyn Engine;

    fn deref(&self) -> &Self::Target {
        &*self.engine
    }
}

impl One {
    async fn of(set: SlateEngineSet) -> Result<Self, OpenError> {
        let engine = set.open(conformance::FIRST).await?;
        Ok(Self { set, engine })
    }

    fn stats(&self) -> Stats {
        self.set.stats()
    }

    async fn close(&self) {
        self.set.close().await;
    }
}

async fn set_in(directory: &Path) -> Result<SlateEngineSet, OpenError> {
    let data = Arc::new(DataDir::open(directory).unwrap());
    SlateEngineSet::new(data, Settings::default()).await
}

/// An engine set whose rows are read by `reads`.
async fn set_that_reads(directory: &Path, reads: Reads) -> SlateEngineSet {
    let data = Arc::new(DataDir::open(directory).unwrap());
    let settings = Settings {
        reads,
        ..Settings::default()
    };
    SlateEngineSet::new(data, settings).await.unwrap()
}

async fn open_in(directory: &Path) -> One {
    let set = set_in(directory).await.unwrap();
    One::of(set).await.unwrap()
}

/// An engine set whose WAL has small segments on a disk that can fail.
async fn set_on(disk: &FaultyDisk, directory: &Path) -> SlateEngineSet {
    let data = Arc::new(DataDir::open(directory).unwrap());
    let options = Options {
        segment_bytes: SEGMENT_BYTES,
        ..Options::default()
    };
    let wal = LocalStorage::with_disk(data.log_path(), Arc::new(disk.clone()), options);
    let home = Home {
        wal: Arc::new(wal),
        ..Home::in_directory(data)
    };
    let set = SlateEngineSet::in_home(home, Settings::default()).await;
    set.unwrap()
}

async fn open_faulty(directory: &Path, disk: &FaultyDisk) -> One {
    One::of(set_on(disk, directory).await).await.unwrap()
}

/// An engine in a new directory on a disk that can fail.
async fn faulty() -> (tempfile::TempDir, FaultyDisk, One) {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let engine = open_faulty(directory.path(), &disk).await;
    (directory, disk, engine)
}

/// Waits until the engine is in this state; the supervisor checks twice a second.
async fn wait_for(engine: &dyn Engine, health: Health) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while engine.health() != health {
        assert!(Instant::now() < deadline, "still {:?}", engine.health());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A caller that waits for the change lock times out, or gives up when the engine set closes.
#[tokio::test]
async fn waiting_for_the_change_lock_ends() {
    let directory = tempfile::tempdir().unwrap();
    let set = set_in(directory.path()).await.unwrap();
    let held = set.core.lock_all_changes().await;
    let range = conformance::FIRST;
    tokio::time::pause();
    let late = set.remove(range).await;
    assert!(matches!(late, Err(ChangeError::Late)), "{late:?}");
    let late = set.clone_parts(range, &[]).await;
    assert!(matches!(late, Err(ChangeError::Late)), "{late:?}");
    set.drop_unknown().await;
    tokio::time::resume();
    let waiting = async {
        let waited = tokio::join!(set.remove(range), set.open(range));
        drop(held);
        waited
    };
    let ((removed, opened), ()) = tokio::join!(waiting, set.close());
    assert!(
        matches!(removed, Err(ChangeError::Unavailable)),
        "{removed:?}"
    );
    assert!(matches!(opened, Err(OpenError::Unavailable)));
}

/// A compaction can write a file after the removal. For SlateDB, a folder without a manifest is not a database, so the
/// removal must handle the folder itself.
#[tokio::test]
async fn a_file_that_appears_after_a_removal_is_removed_too() {
    let directory = tempfile::tempdir().unwrap();
    let set = set_in(directory.path()).await.unwrap();
    let range = conformance::FIRST;
    let engine = set.open(range).await.unwrap();
    commit(&*engine, put("key", "value")).await.unwrap();
    engine.flush().await.unwrap();
    engine.close().await;
    assert_eq!(set.remove(range).await.unwrap(), Removal::Gone);
    assert_eq!(set.list().await.unwrap(), []);

    let folder = (directory.path()).join(format!("store/range-{range}/compacted"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("01M83B44JNAZQJ01684TZ10EYE.sst"), "rows").unwrap();
    assert_eq!(set.list().await.unwrap(), [range]);
    assert_eq!(set.removable(&[range]).await.unwrap(), [range]);
    assert_eq!(set.remove(range).await.unwrap(), Removal::Gone);
    assert_eq!(set.list().await.unwrap(), []);
    assert!(!folder.parent().unwrap().exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    let parent = tempfile::tempdir().unwrap();
    let mut count = 0;
    conformance::run(async || {
        count += 1;
        let set = set_in(&parent.path().join(count.to_string())).await;
        Arc::new(set.unwrap()) as Arc<dyn EngineSet>
    })
    .await;
}

/// The reads of `--reader slatedb`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_when_slatedb_reads() {
    let parent = tempfile::tempdir().unwrap();
    let mut count = 0;
    conformance::run(async || {
        count += 1;
        let directory = parent.path().join(count.to_string());
        Arc::new(set_that_reads(&directory, Reads::SlateDb).await) as Arc<dyn EngineSet>
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn behaves_like_an_ordered_map(lives in proptest::collection::vec(steps(20), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        runtime.block_on(async {
            let mut model = BTreeMap::new();
            // Without real syncs, because the test never cuts the power and would sync thousands of times.
            let disk = FaultyDisk::lazy();
            for steps in lives {
                let engine = open_faulty(directory.path(), &disk).await;
                conformance::check_script(&*engine, &mut model, &steps).await;
                engine.close().await;
            }
        });
    }
}

/// Waiting batches share groups, and so syncs: 200 batches take fewer than 20 groups.
#[tokio::test]
async fn waiting_batches_share_a_sync() {
    let (_directory, disk, engine) = faulty().await;
    commit(&*engine, put("first", "1")).await.unwrap();
    let before = (disk.sync_count(), engine.stats().group_batches.count);
    let waiting = (0..200_u8).map(|number| commit(&*engine, put(vec![number], "x")));
    for result in futures::future::join_all(waiting).await {
        result.unwrap();
    }
    let groups = engine.stats().group_batches.count - before.1;
    assert!(groups < 20, "200 batches in {groups} groups");
    assert!(
        disk.sync_count() - before.0 < 20 + 8,
        "one sync per group, and some for new segments"
    );
    engine.close().await;
}

/// Batches longer than a segment, and small batches between them, are replayed after a failed sync.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_longer_than_a_segment_are_durable() {
    let (_directory, disk, engine) = faulty().await;
    for number in 0..4_u8 {
        let long = put(vec![number], vec![number; 1 << 20]);
        commit(&*engine, long).await.unwrap();
        commit(&*engine, put(vec![number, 1], "short"))
            .await
            .unwrap();
    }
    disk.fail_next_sync(AppendFault::Torn);
    let torn = commit(&*engine, put("torn", vec![7; 1 << 20])).await;
    assert_eq!(torn, Err(WriteError::Unknown));
    wait_for(&*engine, Health::Healthy).await;
    for number in 0..4_u8 {
        let long = engine.get(&[number]).await.unwrap().unwrap();
        assert_eq!(long, vec![number; 1 << 20]);
        assert!(engine.get(&[number, 1]).await.unwrap().is_some());
    }
    assert_eq!(engine.get(b"torn").await.unwrap(), None);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failed_sync_the_outcome_is_unknown_and_the_engine_recovers() {
    for fault in [AppendFault::Durable, AppendFault::Lost, AppendFault::Torn] {
        let (directory, disk, engine) = faulty().await;
        commit(&*engine, put("acknowledged", "1")).await.unwrap();
        let late = engine.reserve(100).await.unwrap();
        disk.fail_next_sync(fault);
        assert_eq!(
            commit(&*engine, put("unknown", vec![2; 3_000])).await,
            Err(WriteError::Unknown)
        );
        drop(late);

        wait_for(&*engine, Health::Healthy).await;
        assert_eq!(engine.get(b"acknowledged").await.unwrap().unwrap(), "1");
        let seen = engine.get(b"unknown").await.unwrap();
        assert_eq!(seen.is_some(), fault == AppendFault::Durable, "{fault:?}");
        commit(&*engine, put("afterwards", "3")).await.unwrap();
        engine.close().await;
        drop(engine);

        let engine = open_in(directory.path()).await;
        assert_eq!(
            engine.get(b"unknown").await.unwrap(),
            seen,
            "a row that was read is never lost"
        );
        assert_eq!(engine.get(b"afterwards").await.unwrap().unwrap(), "3");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_writes_and_serves_reads() {
    let (_directory, disk, engine) = faulty().await;
    disk.set_full(true);
    let mut written = 0_u32;
    let refused = loop {
        let key = written.to_be_bytes().to_vec();
        match commit(&*engine, put(key, vec![7; 10_000])).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "the disk becomes full");
    };
    assert_eq!(refused, WriteError::Refused(Refusal::DiskFull));
    assert_eq!(engine.health(), Health::DiskFull);
    assert_eq!(
        engine.reserve(1).await.unwrap_err(),
        WriteError::Refused(Refusal::DiskFull)
    );
    let found = rows(&*engine, KeyRange::all(), 100).await.len();
    assert_eq!(
        found, written as usize,
        "all acknowledged rows and no refused row"
    );

    disk.set_full(false);
    wait_for(&*engine, Health::Healthy).await;
    commit(&*engine, put("afterwards", "1")).await.unwrap();
    engine.close().await;
}

/// Damage that no crash can cause: an acknowledged record before later records.
#[tokio::test]
async fn a_damaged_wal_is_refused_with_its_file_name() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_in(directory.path()).await;
    for number in 0_u8..3 {
        commit(&*engine, put(vec![number], "x")).await.unwrap();
    }
    engine.close().await;
    drop(engine);
    let segment = directory
        .path()
        .join("log")
        .join("00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[512 + 60] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let text = refusal_to_open(directory.path()).await;
    assert!(
        text.contains("00000000000000000001.log is damaged"),
        "{text}"
    );
}

async fn write_one_flushed_and_one_logged_row(directory: &Path) {
    let engine = open_in(directory).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    engine.flush().await.unwrap();
    commit(&*engine, put("b", "2")).await.unwrap();
    engine.close().await;
}

/// A database whose WAL is missing has lost rows, so it must not open.
#[tokio::test]
async fn a_missing_wal_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    write_one_flushed_and_one_logged_row(directory.path()).await;
    std::fs::remove_dir_all(directory.path().join("log")).unwrap();
    let text = refusal_to_open(directory.path()).await;
    assert!(text.contains("the WAL is missing"), "{text}");
}

/// The older records are flushed and the segment is the only one, so only the head of the WAL shows that it existed.
#[tokio::test]
async fn a_lost_only_segment_is_refused_with_its_file_name() {
    let directory = tempfile::tempdir().unwrap();
    write_one_flushed_and_one_logged_row(directory.path()).await;
    let log = directory.path().join("log");
    std::fs::remove_file(log.join("00000000000000000001.log")).unwrap();
    let text = refusal_to_open(directory.path()).await;
    assert!(
        text.contains("00000000000000000001.log is missing") && text.contains("restore"),
        "{text}"
    );
}

/// The error of a failed open, with all its causes.
async fn refusal_to_open(directory: &Path) -> String {
    let refused = match set_in(directory).await {
        Err(error) => error,
        Ok(set) => One::of(set).await.err().unwrap(),
    };
    let mut text = refused.to_string();
    let mut cause = std::error::Error::source(&refused);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// When one range fails, all ranges are reopened, and no acknowledged row is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_recover_together() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let set = set_on(&disk, directory.path()).await;
    let first = set.open(RangeId(1)).await.unwrap();
    let second = set.open(RangeId(2)).await.unwrap();
    commit(&*first, put("kept", "1")).await.unwrap();
    commit(&*second, put("kept", "2")).await.unwrap();
    disk.fail_next_sync(AppendFault::Lost);
    let both = tokio::join!(
        commit(&*first, put("lost", "1")),
        commit(&*second, put("later", "2"))
    );
    assert!(
        both.0 == Err(WriteError::Unknown) || both.1 == Err(WriteError::Unknown),
        "{both:?}"
    );
    wait_for(&*first, Health::Healthy).await;
    wait_for(&*second, Health::Healthy).await;
    for (engine, value) in [(&first, "1"), (&second, "2")] {
        assert_eq!(engine.get(b"kept").await.unwrap().unwrap(), value);
        commit(&**engine, put("afterwards", value)).await.unwrap();
    }
    set.close().await;
}
