//! Tests that the WAL stays short: every range is flushed in time, for every write pattern.

use tempfile::TempDir;

use super::*;

/// Commits one small row for each number. Each takes a WAL sector, so 2,500 rows fill about 20 segments, but the
/// memtable stays far below its flush size.
async fn write_many(engine: &dyn Engine, numbers: std::ops::Range<u32>) {
    for number in numbers {
        commit(engine, put("key", number.to_string()))
            .await
            .unwrap();
    }
}

/// An engine set of two open ranges on a disk that does not sync.
async fn two_ranges() -> (
    TempDir,
    FaultyDisk,
    SlateEngineSet,
    Arc<dyn Engine>,
    Arc<dyn Engine>,
) {
    let (directory, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::lazy());
    let set = set_on(&disk, directory.path()).await;
    let first = set.open(RangeId(1)).await.unwrap();
    let second = set.open(RangeId(2)).await.unwrap();
    (directory, disk, set, first, second)
}

fn assert_short(stats: &Stats) {
    let live = stats.log_bytes / SEGMENT_BYTES;
    let most = Options::default().live_segments_max;
    assert!(live <= most, "{live} segments");
}

/// Small rows are flushed once they fill some segments, so that the WAL that a start reads is bounded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wal_stays_short_when_rows_are_few() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::lazy();
    let engine = open_faulty(directory.path(), &disk).await;
    write_many(&*engine, 0..2_500).await;
    assert_short(&engine.stats());
    engine.close().await;
    drop(engine);
    let engine = open_faulty(directory.path(), &disk).await;
    assert_eq!(engine.get(b"key").await.unwrap().unwrap(), "2499");
    engine.close().await;
}

/// A range that stopped writing is flushed too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_range_does_not_pin_the_wal() {
    let (_directory, _disk, set, idle, busy) = two_ranges().await;
    commit(&*idle, put("idle", "1")).await.unwrap();
    write_many(&*busy, 0..2_500).await;
    assert_short(&set.stats());
    assert_eq!(idle.get(b"idle").await.unwrap().unwrap(), "1");
    set.close().await;
}

/// A range that writes only once in four segments is flushed, although its own database would flush it too late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_with_rare_writes_does_not_pin_the_wal() {
    let (_directory, _disk, set, seldom, busy) = two_ranges().await;
    for round in 0..5 {
        commit(&*seldom, put("key", round.to_string()))
            .await
            .unwrap();
        write_many(&*busy, round * 500..(round + 1) * 500).await;
    }
    assert_short(&set.stats());
    set.close().await;
}

/// A closed range, such as the source of a split, is flushed too. It can be reopened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_range_does_not_pin_the_wal() {
    let (directory, disk, set, closed, busy) = two_ranges().await;
    commit(&*closed, put("kept", "1")).await.unwrap();
    closed.close().await;
    write_many(&*busy, 0..2_500).await;
    let again = set.open(RangeId(1)).await.unwrap();
    commit(&*again, put("later", "2")).await.unwrap();
    set.close().await;
    drop((closed, again, busy, set));
    // Releasing the records from before the close loses neither row.
    let set = set_on(&disk, directory.path()).await;
    let again = set.open(RangeId(1)).await.unwrap();
    assert_eq!(again.get(b"kept").await.unwrap().unwrap(), "1");
    assert_eq!(again.get(b"later").await.unwrap().unwrap(), "2");
    set.close().await;
}
