mod log_length;
mod memory_home;

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::path::Path;

use proptest::prelude::*;
use tokio::time::Instant;

use bytes::Bytes;
use partita_rt::DataDir;
use partita_wal::AppendFault;
use partita_wal::local::{FaultyDisk, LocalStorage, Options};
use slatedb::compactor::{CompactionSpec, SourceId};
use slatedb::config::CheckpointOptions;

use super::*;
use crate::conformance::strategy::steps;
use crate::conformance::{self, commit, put, rows};
use crate::{
    ChangeError, Collected, Engine, EngineSet, Health, KeyPart, KeyRange, OpenError, ReadError,
    Refusal, Removal, ScanHint, Stats, WriteError,
};

/// Bytes of a segment in most tests.
const SEGMENT_BYTES: u64 = 64 << 10;

/// EngineSet with their first range open.
struct One {
    databases: SlateEngineSet,
    engine: Arc<dyn Engine>,
}

impl std::ops::Deref for One {
    type Target = dyn Engine;

    fn deref(&self) -> &Self::Target {
        &*self.engine
    }
}

impl One {
    async fn of(databases: SlateEngineSet) -> Result<Self, OpenError> {
        let engine = databases.open(conformance::FIRST).await?;
        Ok(Self { databases, engine })
    }

    fn stats(&self) -> Stats {
        self.databases.stats()
    }

    async fn close(&self) {
        self.databases.close().await;
    }
}

async fn databases_in(directory: &Path) -> Result<SlateEngineSet, OpenError> {
    let data = Arc::new(DataDir::open(directory).unwrap());
    SlateEngineSet::new(data, Settings::default()).await
}

async fn open_in(directory: &Path) -> One {
    let databases = databases_in(directory).await.unwrap();
    One::of(databases).await.unwrap()
}

/// EngineSet whose log has small segments on a disk that can fail.
async fn databases_on(disk: &FaultyDisk, directory: &Path) -> SlateEngineSet {
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
    let databases = SlateEngineSet::in_home(home, Settings::default()).await;
    databases.unwrap()
}

async fn open_faulty(directory: &Path, disk: &FaultyDisk) -> One {
    One::of(databases_on(disk, directory).await).await.unwrap()
}

/// Waits until the engine is in this state; the supervisor looks twice a second.
async fn wait_for(engine: &dyn Engine, health: Health) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while engine.health() != health {
        assert!(Instant::now() < deadline, "still {:?}", engine.health());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whoever waits for a turn that does not come gives up in time, and at the latest when the databases end.
#[tokio::test]
async fn nobody_waits_for_ever_to_change_databases() {
    let directory = tempfile::tempdir().unwrap();
    let databases = databases_in(directory.path()).await.unwrap();
    let held = databases.core.change_all().await;
    let range = conformance::FIRST;
    tokio::time::pause();
    let late = databases.remove(range).await;
    assert!(matches!(late, Err(ChangeError::Late)), "{late:?}");
    let late = databases.clone_parts(range, &[]).await;
    assert!(matches!(late, Err(ChangeError::Late)), "{late:?}");
    databases.drop_unknown().await;
    tokio::time::resume();
    let waiting = async {
        let waited = tokio::join!(databases.remove(range), databases.open(range));
        drop(held);
        waited
    };
    let ((removed, opened), ()) = tokio::join!(waiting, databases.close());
    assert!(
        matches!(removed, Err(ChangeError::Unavailable)),
        "{removed:?}"
    );
    assert!(matches!(opened, Err(OpenError::Unavailable)));
}

/// SlateDB takes a folder without a manifest for somebody else's.
#[tokio::test]
async fn a_file_that_was_there_only_after_a_removal_is_removed_too() {
    let directory = tempfile::tempdir().unwrap();
    let databases = databases_in(directory.path()).await.unwrap();
    let range = conformance::FIRST;
    let engine = databases.open(range).await.unwrap();
    commit(&*engine, put("key", "value")).await.unwrap();
    engine.flush().await.unwrap();
    engine.close().await;
    assert_eq!(databases.remove(range).await.unwrap(), Removal::Gone);
    assert_eq!(databases.list().await.unwrap(), []);

    let folder = (directory.path()).join(format!("store/range-{range}/compacted"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("01M83B44JNAZQJ01684TZ10EYE.sst"), "rows").unwrap();
    assert_eq!(databases.list().await.unwrap(), [range]);
    assert_eq!(databases.removable(&[range]).await.unwrap(), [range]);
    assert_eq!(databases.remove(range).await.unwrap(), Removal::Gone);
    assert_eq!(databases.list().await.unwrap(), []);
    assert!(!folder.parent().unwrap().exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    let parent = tempfile::tempdir().unwrap();
    let mut count = 0;
    conformance::run(async || {
        count += 1;
        let databases = databases_in(&parent.path().join(count.to_string())).await;
        Arc::new(databases.unwrap()) as Arc<dyn EngineSet>
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn does_what_an_ordered_map_does(lives in proptest::collection::vec(steps(20), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        runtime.block_on(async {
            let mut model = BTreeMap::new();
            // Lazy, because thousands of syncs show nothing here: the process lives on.
            let disk = FaultyDisk::lazy();
            for steps in lives {
                let engine = open_faulty(directory.path(), &disk).await;
                conformance::check_script(&*engine, &mut model, &steps).await;
                engine.close().await;
            }
        });
    }
}

/// Batches that wait together are one group: one record, one sync.
#[tokio::test]
async fn waiting_batches_share_a_sync() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let engine = open_faulty(directory.path(), &disk).await;
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
        "a sync for a group, some for a new segment"
    );
    engine.close().await;
}

/// What was written before a sync that fails is replayed from the log: batches longer than its segments, and rows between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_longer_than_a_segment_are_durable() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let engine = open_faulty(directory.path(), &disk).await;
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
async fn a_failed_sync_is_unknown_and_healed() {
    for fault in [AppendFault::Durable, AppendFault::Lost, AppendFault::Torn] {
        let directory = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::default();
        let engine = open_faulty(directory.path(), &disk).await;
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
            "what was once seen stays"
        );
        assert_eq!(engine.get(b"afterwards").await.unwrap().unwrap(), "3");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_writes_serves_reads_and_heals() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let engine = open_faulty(directory.path(), &disk).await;
    disk.set_full(true);
    let mut written = 0_u32;
    let refused = loop {
        let key = written.to_be_bytes().to_vec();
        match commit(&*engine, put(key, vec![7; 10_000])).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "the disk is never full");
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
        "what was refused is not there, the rest is"
    );

    disk.set_full(false);
    wait_for(&*engine, Health::Healthy).await;
    commit(&*engine, put("afterwards", "1")).await.unwrap();
    engine.close().await;
}

/// Damage that no crash makes: an acknowledged record with others behind it.
#[tokio::test]
async fn a_damaged_log_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_in(directory.path()).await;
    for number in 0_u8..3 {
        commit(&*engine, put(vec![number], "x")).await.unwrap();
    }
    engine.close().await;
    drop(engine);
    let log = directory
        .path()
        .join("log")
        .join("00000000000000000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[512 + 60] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let text = refusal_to_open(directory.path()).await;
    assert!(
        text.contains("00000000000000000001.log is damaged"),
        "{text}"
    );
}

/// Without its log a database has lost rows; it must say so and not start as if nothing were.
#[tokio::test]
async fn a_lost_log_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_in(directory.path()).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    engine.flush().await.unwrap();
    commit(&*engine, put("b", "2")).await.unwrap();
    engine.close().await;
    drop(engine);
    std::fs::remove_dir_all(directory.path().join("log")).unwrap();
    let text = refusal_to_open(directory.path()).await;
    assert!(text.contains("the WAL is missing"), "{text}");
}

/// Why the engine did not open, with all its causes.
async fn refusal_to_open(directory: &Path) -> String {
    let refused = match databases_in(directory).await {
        Err(error) => error,
        Ok(databases) => One::of(databases).await.err().unwrap(),
    };
    let mut text = refused.to_string();
    let mut cause = std::error::Error::source(&refused);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// A file of the store that was damaged is an error to whoever reads it, not a wrong answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_files_are_not_answered_from() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_in(directory.path()).await;
    for number in 0_u32..200 {
        let value = format!("{number}-").repeat(100);
        commit(&*engine, put(number.to_be_bytes().to_vec(), value))
            .await
            .unwrap();
    }
    engine.flush().await.unwrap();
    engine.close().await;
    drop(engine);
    let folder = directory
        .path()
        .join("store")
        .join("range-1")
        .join("compacted");
    let file = std::fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&file, bytes).unwrap();

    let engine = open_in(directory.path()).await;
    let got = engine.get(&0_u32.to_be_bytes()).await;
    assert!(matches!(got, Err(ReadError::Corrupt(_))), "{got:?}");
    let scan = engine.scan(KeyRange::all(), ScanHint::page(10)).await;
    assert!(matches!(scan.err(), Some(ReadError::Corrupt(_))));
    engine.close().await;
}

/// The life of a parent: its children share its files, rewrite what they see of them, let go of it, and it is removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_is_removed_once_its_children_have_rewritten_its_rows() {
    for rewritten_at_once_bytes in [u64::MAX, 0] {
        a_parent_is_removed(Settings {
            garbage_age: Duration::from_secs(1),
            rewritten_at_once_bytes,
            ..Settings::default()
        })
        .await;
    }
}

async fn a_parent_is_removed(settings: Settings) {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let databases = SlateEngineSet::new(data, settings).await.unwrap();
    let one = One::of(databases).await.unwrap();
    for number in 0_u32..300 {
        let value = format!("{number}-").repeat(200);
        commit(&*one, put(number.to_be_bytes().to_vec(), value))
            .await
            .unwrap();
        if number % 100 == 99 {
            one.flush().await.unwrap();
        }
    }
    let cut = Bytes::copy_from_slice(&150_u32.to_be_bytes());
    let (below, above) = (
        KeyRange {
            start: Bound::Unbounded,
            end: Bound::Excluded(cut.clone()),
        },
        KeyRange {
            start: Bound::Included(cut),
            end: Bound::Unbounded,
        },
    );
    let source = conformance::FIRST;
    let children = [(RangeId(2), below), (RangeId(3), above)];
    for (child, range) in children.clone() {
        let piece = KeyPart { source, range };
        one.databases.clone_parts(child, &[piece]).await.unwrap();
    }
    one.engine.close().await;
    let (mut engines, mut kept) = (Vec::new(), one.databases);
    drop(one.engine);
    for (child, _) in &children {
        let engine = kept.open(*child).await.unwrap();
        assert_eq!(engine.file_layout().sources, 1);
        assert_eq!(kept.removable(&[source]).await.unwrap(), []);
        assert_eq!(kept.remove(source).await.unwrap(), Removal::Needed);
        engines.push(engine);
    }
    // What a clone leaves that was removed only in part keeps nothing.
    let left = CheckpointOptions::default();
    let admin = cloning::admin(&kept.core, source);
    admin.create_detached_checkpoint(&left).await.unwrap();
    assert_eq!(kept.remove(source).await.unwrap(), Removal::Needed);
    let deadline = Instant::now() + Duration::from_secs(30);
    for (engine, (child, _)) in engines.iter().zip(&children) {
        let folder = directory
            .path()
            .join(format!("store/range-{child}/compacted"));
        let mut made = HashSet::new();
        // Asked for as often as one likes, it is done once: the source stays listed for a while after that.
        while engine.file_layout().kept > 0 {
            assert!(Instant::now() < deadline, "{:?}", engine.file_layout());
            engine.detach().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            engine.collect().await.unwrap();
            for file in std::fs::read_dir(&folder).into_iter().flatten() {
                made.insert(file.unwrap().file_name());
            }
        }
        // What was asked for before the database saw the first one's outcome may be a second.
        assert!(made.len() <= 2, "{made:?}");
    }
    assert_eq!(kept.removable(&[source]).await.unwrap(), [source]);
    assert_eq!(kept.remove(source).await.unwrap(), Removal::Gone);
    assert_eq!(kept.list().await.unwrap(), [RangeId(2), RangeId(3)]);
    assert_eq!(rows(&*engines[1], KeyRange::all(), 100).await.len(), 150);
    kept.close().await;
    drop((engines, kept));

    kept = databases_in(directory.path()).await.unwrap();
    let child = kept.open(RangeId(2)).await.unwrap();
    assert_eq!(rows(&*child, KeyRange::all(), 100).await.len(), 150);
    kept.drop_unknown().await;
    kept.close().await;
}

/// A file that came of rewriting, and was rewritten again, is newer than all that was flushed: it stays until a flush, and the
/// engine says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_rewritten_twice_stays_until_a_flush() {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let settings = Settings {
        garbage_age: Duration::from_secs(1),
        ..Settings::default()
    };
    let one = One::of(SlateEngineSet::new(data, settings).await.unwrap())
        .await
        .unwrap();
    for value in ["a", "b"] {
        commit(&*one, put("key", value)).await.unwrap();
        one.flush().await.unwrap();
    }
    assert_eq!(one.file_layout().newest_rewritten, None);
    one.detach().await.unwrap();
    let first = rewritten_after(&*one, None).await;
    assert_eq!(one.collect().await.unwrap(), Collected::All);

    // The engine itself has no reason to rewrite a single file, but a compaction of several runs can come at any time.
    let opened = one.databases.core.slot(conformance::FIRST).unwrap();
    let run = opened.opened().unwrap().db.manifest().compacted()[0].id;
    let spec = CompactionSpec::new(vec![SourceId::SortedRun(run)], run);
    let admin = cloning::admin(&one.databases.core, conformance::FIRST);
    admin.submit_compaction(spec).await.unwrap();
    rewritten_after(&*one, Some(&first)).await;
    assert_eq!(one.collect().await.unwrap(), Collected::UntilFlush);

    commit(&*one, put("key", "c")).await.unwrap();
    one.flush().await.unwrap();
    let file = directory
        .path()
        .join(format!("store/range-1/compacted/{first}.sst"));
    let deadline = Instant::now() + Duration::from_secs(30);
    while file.exists() {
        assert!(Instant::now() < deadline, "{:?}", one.file_layout());
        assert_eq!(one.collect().await.unwrap(), Collected::All);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    one.close().await;
}

/// Waits until another file is the newest that came of rewriting.
async fn rewritten_after(engine: &dyn Engine, before: Option<&String>) -> String {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let newest = engine.file_layout().newest_rewritten;
        if newest.as_ref() != before
            && let Some(newest) = newest
        {
            return newest;
        }
        assert!(Instant::now() < deadline, "{:?}", engine.file_layout());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// When one range fails, all are opened anew, and nothing acknowledged is lost in any of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_are_healed_together() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let databases = databases_on(&disk, directory.path()).await;
    let first = databases.open(RangeId(1)).await.unwrap();
    let second = databases.open(RangeId(2)).await.unwrap();
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
    databases.close().await;
}
