//! Tests of damaged files in the store: reads that need them fail at once, the status names the file, and all other
//! rows are served.

use std::path::PathBuf;

use super::*;
use crate::NoMeter;
use crate::slate::settings::LEVEL0_COUNT_BLOCKED;

const ROWS: u32 = 200;

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// The data files of the first range.
fn files(directory: &Path) -> Vec<PathBuf> {
    let folder = directory.join("store").join("range-1").join("compacted");
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Writes rows and flushes them into one file, whose path it returns.
async fn flushed(directory: &Path) -> PathBuf {
    let engine = open_in(directory).await;
    for number in 0..ROWS {
        let value = format!("{number}-").repeat(100);
        commit(&*engine, put(key(number), value)).await.unwrap();
    }
    engine.flush().await.unwrap();
    engine.close().await;
    let mut files = files(directory);
    assert_eq!(files.len(), 1);
    files.remove(0)
}

/// Waits until no file is known to be damaged; the supervisor checks every few seconds.
async fn wait_until_whole(set: &SlateEngineSet) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !set.damaged_files().is_empty() {
        assert!(Instant::now() < deadline, "{:?}", set.damaged_files());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Damages the file, and checks the answers, the report, and that the file can be put back.
async fn check(damage: impl FnOnce(&Path, &[u8]), problem: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = flushed(directory.path()).await;
    let whole = std::fs::read(&file).unwrap();
    damage(&file, &whole);
    let engine = open_in(directory.path()).await;
    let got = engine.get(&key(0)).await;
    assert!(matches!(got, Err(ReadError::Corrupt(_))), "{got:?}");
    let mut failed = None;
    match engine.scan(KeyRange::all(), ScanHint::page(10)).await {
        Err(error) => failed = Some(error),
        Ok(mut scan) => {
            while failed.is_none() {
                failed = scan.next(1_000, usize::MAX).await.err();
            }
        }
    }
    assert!(matches!(failed, Some(ReadError::Corrupt(_))), "{failed:?}");

    let damaged = engine.set.damaged_files();
    let name = file.file_name().unwrap().to_str().unwrap();
    let path = format!("store/range-1/compacted/{name}");
    assert_eq!(damaged.len(), 1, "{damaged:?}");
    assert_eq!((damaged[0].range, &damaged[0].file), (RangeId(1), &path));
    assert!(damaged[0].problem.contains(problem), "{damaged:?}");
    assert!(!damaged[0].blocks_writes);
    assert_eq!(engine.health(), Health::Healthy);

    commit(&*engine, put("other", "1")).await.unwrap();
    engine.flush().await.unwrap();
    assert_eq!(engine.get(b"other").await.unwrap().unwrap(), "1");

    std::fs::write(&file, whole).unwrap();
    wait_until_whole(&engine.set).await;
    assert!(engine.get(&key(0)).await.unwrap().is_some());
    assert_eq!(
        rows(&*engine, KeyRange::all(), 1_000).await.len(),
        ROWS as usize + 1
    );
    engine.close().await;
}

/// SlateDB would repeat a read of the missing bytes forever; the read must fail at once instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_file_is_corrupt_and_named() {
    check(
        |file, whole| std::fs::write(file, &whole[..whole.len() / 2]).unwrap(),
        "it was truncated",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_file_is_corrupt_and_named() {
    check(
        |file, _| std::fs::write(file, "").unwrap(),
        "it was truncated",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_bit_is_corrupt_and_named() {
    let flip = |file: &Path, whole: &[u8]| {
        let mut bytes = whole.to_vec();
        bytes[100] ^= 1;
        std::fs::write(file, bytes).unwrap();
    };
    check(flip, "checksum").await;
}

/// The last byte of a data file is the version of its format.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_another_version_is_corrupt_and_named() {
    let raise = |file: &Path, whole: &[u8]| {
        let mut bytes = whole.to_vec();
        *bytes.last_mut().unwrap() += 1;
        std::fs::write(file, bytes).unwrap();
    };
    check(raise, "format").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_file_is_corrupt_and_named() {
    check(|file, _| std::fs::remove_file(file).unwrap(), "missing").await;
}

/// The compaction of the damaged range fails, so its level 0 fills up. If the range did not refuse writes in time, it
/// could no longer flush, its records would stay in the WAL, and all ranges would refuse writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_blocks_no_other_range() {
    let directory = tempfile::tempdir().unwrap();
    let file = flushed(directory.path()).await;
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, "").unwrap();
    let set = set_on(&FaultyDisk::lazy(), directory.path()).await;
    let damaged = set.open(RangeId(1)).await.unwrap();
    let healthy = set.open(RangeId(2)).await.unwrap();
    let got = damaged.get(&key(0)).await;
    assert!(matches!(got, Err(ReadError::Corrupt(_))), "{got:?}");

    commit(&*damaged, put("newest", "1")).await.unwrap();
    for number in 1..LEVEL0_COUNT_BLOCKED {
        let key = format!("newer {number}");
        commit(&*damaged, put(key, "1")).await.unwrap();
        damaged.flush().await.unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    let refused = loop {
        if let Err(error) = commit(&*damaged, put("next", "1")).await {
            break error;
        }
        assert!(Instant::now() < deadline, "writes are refused in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(refused, WriteError::Refused(Refusal::Damaged));
    assert!(set.damaged_files()[0].blocks_writes);
    assert!(damaged.get(b"newest").await.unwrap().is_some());
    damaged.flush().await.unwrap();
    commit(&*healthy, put("key", "1")).await.unwrap();
    healthy.flush().await.unwrap();
    assert_eq!(set.health(), Health::Healthy);

    std::fs::write(&file, whole).unwrap();
    wait_until_whole(&set).await;
    while let Err(error) = commit(&*damaged, put("afterwards", "1")).await {
        assert_eq!(error, WriteError::Refused(Refusal::Damaged));
        assert!(Instant::now() < deadline + Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(damaged.get(&key(0)).await.unwrap().is_some());
    set.close().await;
}

/// The damaged files of a range are dropped when the range is closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_of_a_closed_range_are_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let file = flushed(directory.path()).await;
    std::fs::write(&file, "").unwrap();
    let engine = open_in(directory.path()).await;
    engine.get(&key(0)).await.unwrap_err();
    assert_eq!(engine.set.damaged_files().len(), 1);
    engine.engine.close().await;
    assert_eq!(engine.set.damaged_files(), []);
    engine.close().await;
}

/// Flips a bit of a file, and returns the content from before.
fn flip(file: &Path, place: usize) -> Vec<u8> {
    let whole = std::fs::read(file).unwrap();
    let mut bytes = whole.clone();
    bytes[place] ^= 1;
    std::fs::write(file, bytes).unwrap();
    whole
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrub_names_a_damaged_file_before_a_read_meets_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = flushed(directory.path()).await;
    let whole = flip(&file, 100);
    let engine = open_in(directory.path()).await;
    assert_eq!(engine.set.damaged_files(), []);
    let deadline = Instant::now() + Duration::from_secs(30);
    while engine.stats().cache_misses < 2 {
        assert!(
            Instant::now() < deadline,
            "the filter and the index are not read"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let cached = engine.stats().cache_bytes;
    let pass = engine.set.scrub(Arc::new(NoMeter)).await;
    let found = (pass.files, pass.damaged, pass.log.len());
    assert_eq!(
        found,
        (3, 1, 0),
        "a manifest, a data file, and the head of the log"
    );
    let damaged = engine.set.damaged_files();
    assert!(damaged[0].problem.contains("checksum"), "{damaged:?}");
    assert_eq!(engine.stats().cache_bytes, cached, "the cache is bypassed");

    std::fs::write(&file, whole).unwrap();
    wait_until_whole(&engine.set).await;
    let pass = engine.set.scrub(Arc::new(NoMeter)).await;
    assert_eq!(pass.damaged, 0);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrub_names_a_damaged_manifest() {
    let directory = tempfile::tempdir().unwrap();
    flushed(directory.path()).await;
    let engine = open_in(directory.path()).await;
    let folder = directory.path().join("store/range-1/manifest");
    let newest = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let newest = newest.max().unwrap();
    let whole = flip(&newest, 30);
    assert_eq!(engine.set.scrub(Arc::new(NoMeter)).await.damaged, 1);
    let damaged = engine.set.damaged_files();
    let name = newest.file_name().unwrap().to_str().unwrap();
    assert!(damaged[0].file.ends_with(name), "{damaged:?}");
    std::fs::write(&newest, whole).unwrap();
    assert_eq!(engine.set.scrub(Arc::new(NoMeter)).await.damaged, 0);
    assert_eq!(engine.set.damaged_files(), []);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrub_names_a_damaged_segment_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let set = set_on(&FaultyDisk::lazy(), directory.path()).await;
    let engine = set.open(RangeId(1)).await.unwrap();
    // Two records fill more than one segment, but too few segments to begin a flush.
    for number in 0..2 {
        let value = "v".repeat(SEGMENT_BYTES as usize * 2 / 3);
        commit(&*engine, put(key(number), value)).await.unwrap();
    }
    let segment = directory.path().join("log/00000000000000000001.log");
    let whole = flip(&segment, 10_000);
    let pass = set.scrub(Arc::new(NoMeter)).await;
    let files: Vec<&str> = pass.log.iter().map(|fault| fault.file.as_str()).collect();
    assert_eq!(files, ["log/00000000000000000001.log"], "{pass:?}");
    assert_eq!(pass.damaged, 0);
    assert!(engine.get(&key(0)).await.unwrap().is_some());
    std::fs::write(&segment, whole).unwrap();
    assert_eq!(set.scrub(Arc::new(NoMeter)).await.log, []);
    set.close().await;
}
