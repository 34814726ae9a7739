//! Ranges that are handed over by a living process.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use parking_lot::Mutex;
use partita_rt::ShiftedClock;
use tokio::sync::SemaphorePermit;

use super::*;
use crate::conformance::delete;
use crate::slate::settings::LEVEL0_COUNT_MAX;
use crate::{PinId, PinnedRows};

/// A range that was changed elsewhere and comes back shows nothing old, and its WAL ids continue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_that_comes_back_shows_nothing_old() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let here = one.take(RANGE, &[]).await;
    for (key, value) in [("a", "1"), ("b", "1"), ("c", "1")] {
        commit(&*here, put(key, value)).await.unwrap();
    }
    expect(&*here, &[("a", "1"), ("b", "1"), ("c", "1")]).await;
    one.hand_over(RANGE).await.unwrap();
    let refused = commit(&*here, put("a", "late")).await;
    assert_eq!(refused, Err(Refusal::Closed.into()));
    assert!(matches!(here.get(b"a").await, Err(ReadError::Closed)));

    let there = two.take(RANGE, &[]).await;
    commit(&*there, put("a", "2")).await.unwrap();
    commit(&*there, delete("b")).await.unwrap();
    expect(&*there, &[("a", "2"), ("c", "1")]).await;
    two.hand_over(RANGE).await.unwrap();

    let here = one.take(RANGE, &[]).await;
    expect(&*here, &[("a", "2"), ("c", "1")]).await;
    assert_eq!(here.get(b"b").await.unwrap(), None);
    commit(&*here, put("a", "3")).await.unwrap();
    let last = |process: &Process| process.core.wal().unwrap().wal.last_of(RANGE);
    assert_eq!((last(&one), last(&two)), (Some(WalId(6)), Some(WalId(5))));

    // The gaps in the logs are not taken for lost records.
    let logs = [one.log, two.log];
    drop((one, two));
    let heir = cluster.start().await;
    let engine = heir.take(RANGE, &logs).await;
    expect(&*engine, &[("a", "3"), ("c", "1")]).await;
}

/// Another process can have a range before the database that this one had is closed. If the range comes back, it waits for that.
#[tokio::test(flavor = "current_thread")]
async fn a_range_is_handed_over_before_its_database_is_closed() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let here = one.take(RANGE, &[]).await;
    commit(&*here, put("a", "1")).await.unwrap();
    let (changes, handed_over) = hand_over_without_close(&cluster, &one).await;
    handed_over.unwrap();
    let there = two.take(RANGE, &[]).await;
    commit(&*there, put("b", "2")).await.unwrap();
    two.hand_over(RANGE).await.unwrap();

    let is_asked = AtomicBool::new(false);
    let is_assigned = async {
        is_asked.store(true, Ordering::Relaxed);
        true
    };
    let mut back = one.take_over(RANGE, &[], Box::pin(is_assigned));
    tokio::time::pause();
    let waited = tokio::time::timeout(Duration::from_secs(60), &mut back).await;
    tokio::time::resume();
    assert!(waited.is_err() && !is_asked.load(Ordering::Relaxed));
    drop(changes);
    let here = back.await.unwrap();
    expect(&*here, &[("a", "1"), ("b", "2")]).await;
}

/// Hands the range over; its database is not closed until the permit is dropped.
async fn hand_over_without_close<'p>(
    cluster: &Cluster,
    process: &'p Process,
) -> (SemaphorePermit<'p>, Result<(), ChangeError>) {
    cluster.store.hold_files(true);
    let mut handing = process.hand_over(RANGE);
    tokio::select! {
        handed_over = &mut handing => panic!("nothing was flushed: {handed_over:?}"),
        () = cluster.store.file_is_held() => {}
    }
    // The hand-over is a change that runs. This one is next, and the close comes after it.
    let mut changes = Box::pin(process.core.lock_all_changes());
    assert!(futures::poll!(&mut changes).is_pending());
    cluster.store.hold_files(false);
    let handed_over = handing.await;
    (changes.await, handed_over)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_keeps_its_other_ranges_when_it_hands_one_over() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let (first, kept) = (one.take(RANGE, &[]).await, one.take(RangeId(2), &[]).await);
    commit(&*first, put("a", "1")).await.unwrap();
    commit(&*kept, put("k", "1")).await.unwrap();
    one.hand_over(RANGE).await.unwrap();
    let again = one.hand_over(RANGE).await;
    assert!(matches!(again, Err(ChangeError::State(RANGE))));
    let moved = two.take(RANGE, &[]).await;
    commit(&*moved, put("b", "2")).await.unwrap();
    commit(&*kept, put("l", "2")).await.unwrap();
    expect(&*moved, &[("a", "1"), ("b", "2")]).await;
    expect(&*kept, &[("k", "1"), ("l", "2")]).await;
}

/// A process that has handed its ranges over, and whose log was sealed because it was taken for dead, goes on with a new log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_ranges_begins_a_new_log() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let here = one.take(RANGE, &[]).await;
    commit(&*here, put("a", "1")).await.unwrap();
    let refused = one.renew_log().await;
    assert!(matches!(refused, Err(ChangeError::State(RANGE))));
    one.hand_over(RANGE).await.unwrap();
    one.renew_log().await.unwrap();
    let there = two.take(RANGE, &[one.log]).await;
    commit(&*there, put("b", "2")).await.unwrap();
    two.hand_over(RANGE).await.unwrap();

    let here = one.take(RANGE, &[]).await;
    commit(&*here, put("c", "3")).await.unwrap();
    let renewed = one.set.log().unwrap();
    assert!(renewed > two.log, "{renewed:?}");
    drop(one);
    let heir = cluster.start().await;
    let engine = heir.take(RANGE, &[renewed]).await;
    expect(&*engine, &[("a", "1"), ("b", "2"), ("c", "3")]).await;
}

/// A log that was sealed while it had no writes is noticed before a range is opened, not by its first write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_whose_log_is_sealed_takes_no_range_over() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    two.seal_logs(&[one.log]).await.unwrap();
    let refused = one.take_over(RANGE, &[], assigned()).await;
    assert!(matches!(refused, Err(OpenError::Fenced(_))));
    one.renew_log().await.unwrap();
    let engine = one.take(RANGE, &[]).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    expect(&*engine, &[("a", "1")]).await;
}

/// The range is closed, and the next owner replays the log, which ends the process that could not flush.
#[tokio::test(flavor = "current_thread")]
async fn a_range_that_cannot_be_flushed_needs_the_log() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let here = one.take(RANGE, &[]).await;
    commit(&*here, put("a", "1")).await.unwrap();
    cluster.store.hold_files(true);
    // Passes the deadline at once.
    tokio::time::pause();
    let late = one.hand_over(RANGE).await;
    tokio::time::resume();
    assert!(matches!(late, Err(ChangeError::Late)), "{late:?}");
    cluster.store.hold_files(false);
    let there = two.take(RANGE, &[one.log]).await;
    expect(&*there, &[("a", "1")]).await;
    commit(&*there, put("b", "2")).await.unwrap();
}

/// A process that compacts nothing, and its range with so many files in level 0.
async fn with_level_0(cluster: &Cluster, files: usize) -> (Process, Arc<dyn Engine>) {
    let process = Process::of(cluster.home(), never_compacts()).await;
    let engine = process.take(RANGE, &[]).await;
    for number in 0..files {
        commit(&*engine, put("a", number.to_string()))
            .await
            .unwrap();
        engine.flush().await.unwrap();
    }
    (process, engine)
}

fn never_compacts() -> Settings {
    Settings {
        compaction_poll: Duration::from_secs(3_600),
        ..Settings::default()
    }
}

/// Before a hand-over, writes go on until the last flush has room in level 0: a full one is compacted first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_level_0_is_compacted_before_the_last_flush() {
    let cluster = Cluster::default();
    let (one, here) = with_level_0(&cluster, LEVEL0_COUNT_MAX - 1).await;
    assert!(here.await_flush_room().now_or_never().is_none());
    let logs = [one.log];
    drop((one, here));

    let two = Process::of(cluster.home(), Settings::default()).await;
    let there = two.take(RANGE, &logs).await;
    there.await_flush_room().await.unwrap();
    commit(&*there, put("a", "last")).await.unwrap();
    two.hand_over(RANGE).await.unwrap();
    let closed = there.await_flush_room().await;
    assert_eq!(closed, Err(Refusal::Closed.into()));
}

/// The rows of the log are flushed before the range is served, although level 0 is full and nothing is compacted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_does_not_wait_for_a_compaction() {
    let cluster = Cluster::default();
    let (one, here) = with_level_0(&cluster, LEVEL0_COUNT_MAX).await;
    commit(&*here, put("a", "last")).await.unwrap();
    let logs = [one.log];
    drop((one, here));
    let two = Process::of(cluster.home(), never_compacts()).await;
    let there = two.take(RANGE, &logs).await;
    expect(&*there, &[("a", "last")]).await;
}

/// An open range is not taken over again, and the logs are left alone.
#[tokio::test]
async fn a_range_that_is_open_is_not_taken_over() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let other = two.take(RangeId(2), &[]).await;
    let engine = one.take(RANGE, &[]).await;
    let again = one.take_over(RANGE, &[two.log], assigned()).await;
    assert!(matches!(again, Err(OpenError::AlreadyOpen(RANGE))));
    commit(&*other, put("a", "1")).await.unwrap();
    commit(&*engine, put("a", "1")).await.unwrap();
}

/// The clock of the next owner is behind that of the last one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_do_not_go_back_with_the_next_owner() {
    for crashes in [false, true] {
        let cluster = Cluster::default();
        let ahead = ShiftedClock::ahead(Duration::from_secs(3_600));
        let one = cluster.start_at(Arc::new(ahead)).await;
        let two = cluster.start().await;
        let here = one.take(RANGE, &[]).await;
        commit(&*here, put("a", "1")).await.unwrap();
        let there = if crashes {
            let logs = [one.log];
            drop((one, here));
            two.take(RANGE, &logs).await
        } else {
            one.hand_over(RANGE).await.unwrap();
            two.take(RANGE, &[]).await
        };
        assert!(two.wall_clock_lag() > Duration::from_secs(3_000));
        commit(&*there, put("b", "2")).await.unwrap();
        there.flush().await.unwrap();
        expect(&*there, &[("a", "1"), ("b", "2")]).await;
    }
}

async fn pinned(rows: &dyn PinnedRows) -> usize {
    let scan = rows.scan(KeyRange::all(), ScanHint::page(10)).await;
    let mut scan = scan.unwrap();
    scan.next(10, usize::MAX).await.unwrap().len()
}

/// The pins of a range are read and released by a process that does not serve it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_are_read_and_released_in_any_process() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let engine = one.take(RANGE, &[]).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    let made = one.pin(&[RANGE]).await.unwrap();
    let pin: &PinId = &made.pins[0];
    commit(&*engine, put("b", "2")).await.unwrap();
    engine.flush().await.unwrap();

    assert_eq!(two.pins(RANGE).await.unwrap(), made.pins);
    let rows = two.open_pin(RANGE, pin).await.unwrap();
    assert_eq!(pinned(&*rows).await, 1);
    assert_eq!(two.files(RANGE, Some(pin)).await.unwrap().len(), 1);
    assert_eq!(two.files(RANGE, None).await.unwrap().len(), 2);
    // Also after the range has moved, and while its new owner writes.
    one.hand_over(RANGE).await.unwrap();
    let three = cluster.start().await;
    let engine = three.take(RANGE, &[]).await;
    commit(&*engine, put("c", "3")).await.unwrap();
    assert_eq!(pinned(&*two.open_pin(RANGE, pin).await.unwrap()).await, 1);
    two.unpin(RANGE, pin).await.unwrap();
    assert!(three.pins(RANGE).await.unwrap().is_empty());
    commit(&*engine, put("d", "4")).await.unwrap();
    engine.flush().await.unwrap();
    assert_eq!(rows_of(&*engine).await, 4);
}

async fn rows_of(engine: &dyn Engine) -> usize {
    texts(engine).await.len()
}

/// A process that reads the database, is stopped for a while, and goes on although the range has another owner by now,
/// does not lock that owner out, whatever it believes about its assignment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_process_does_not_lock_the_owner_out() {
    let cluster = Cluster::default();
    let (first, late, owner) = (
        cluster.start().await,
        cluster.start().await,
        cluster.start().await,
    );
    let engine = first.take(RANGE, &[]).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    first.hand_over(RANGE).await.unwrap();

    let engine = Mutex::new(None);
    // The late process has read the database when it asks, and gets the answer after the owner has opened the range.
    let still = async {
        let opened = owner.take(RANGE, &[]).await;
        *engine.lock() = Some(opened);
        true
    };
    let taken = late.take_over(RANGE, &[], Box::pin(still)).await;
    assert!(matches!(taken, Err(OpenError::Store(_))));
    let engine = engine
        .lock()
        .take()
        .expect("the owner has opened the range");
    commit(&*engine, put("a", "2")).await.unwrap();

    // A process that learns in time that it is too late opens nothing.
    let not = Box::pin(std::future::ready(false));
    let taken = late.take_over(RANGE, &[], not).await;
    assert!(matches!(taken, Err(OpenError::NotAssigned(RANGE))));
    commit(&*engine, put("b", "3")).await.unwrap();
    expect(&*engine, &[("a", "2"), ("b", "3")]).await;
}
