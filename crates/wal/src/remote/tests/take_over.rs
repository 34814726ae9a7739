//! Taking over logs of other servers.

use std::time::SystemTime;

use super::*;
use crate::conformance::{open, recovered_ids, row};
use crate::{OpenWalError, Resume};

const OTHER: RangeId = RangeId(2);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn an_heir_reads_its_ranges_after_their_flushed_records() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=4).await;
    conformance::append(&*wal, OTHER, 1, &[row("k", "v")])
        .await
        .unwrap();
    append(&*wal, 5..=6).await;
    let sealed = logs.seal(LIFE, "heir").await.unwrap();
    assert_eq!((sealed.floor, sealed.end), (0, 8));
    assert!(sealed.bytes() > 7 * 148);
    assert_eq!(recovered(&logs, &sealed, 0).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(recovered(&logs, &sealed, 4).await, [5, 6]);
    assert!(recovered(&logs, &sealed, 6).await.is_empty());
}

#[tokio::test]
async fn records_missing_after_the_flushed_one_are_an_error() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 5..=6).await;
    let sealed = logs.seal(LIFE, "heir").await.unwrap();
    assert_eq!(recovered(&logs, &sealed, 4).await, [5, 6]);
    let ranges = BTreeMap::from([(RANGE, WalId(3))]);
    let read = logs.reader(LIFE).read(&sealed, &ranges).await;
    assert!(matches!(read, Err(OpenWalError::Missing { .. })));
}

#[tokio::test]
async fn what_was_read_in_advance_is_not_read_again() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=300).await;
    let mut reader = logs.reader(LIFE);
    reader.read_ahead().await.unwrap();
    assert_eq!(reader.groups_read(), 301);
    append(&*wal, 301..=303).await;
    let sealed = logs.seal(LIFE, "heir").await.unwrap();
    let before = faults.requests().gets;
    let ranges = BTreeMap::from([(RANGE, WalId(0))]);
    let found = reader.read(&sealed, &ranges).await.unwrap();
    assert_eq!(found[&RANGE].len(), 303);
    assert_eq!(faults.requests().gets - before, 3);
}

#[tokio::test]
async fn groups_that_the_writer_deleted_are_forgotten() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=300).await;
    let mut reader = logs.reader(LIFE);
    reader.read_ahead().await.unwrap();
    wal.release(RANGE, WalId(300));
    wal.maintain().await.unwrap();
    reader.read_ahead().await.unwrap();
    assert_eq!(reader.groups_read(), 1);
}

#[tokio::test]
async fn a_life_is_sealed_before_it_begins() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let sealed = logs.seal(LIFE, "heir").await.unwrap();
    assert_eq!((sealed.floor, sealed.end), (0, 0));
    assert!(logs.begin(LIFE).await.is_err());
    assert!(recovered(&logs, &sealed, 0).await.is_empty());
}

#[tokio::test]
async fn after_a_wipe_all_logs_that_were_not_collected_are_found() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    for life in 1..=4 {
        let wal = logs.begin(Life(life)).await.unwrap();
        append(&*wal, 1..=2).await;
    }
    let sealed = logs.seal(Life(2), "heir").await.unwrap();
    logs.collect(&sealed).await.unwrap();
    logs.seal(Life(3), "heir").await.unwrap();
    assert_eq!(
        logs.uncollected().await.unwrap(),
        [Life(1), Life(3), Life(4)]
    );
}

#[tokio::test]
async fn a_collected_log_keeps_its_seal_for_seven_days() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=2).await;
    let sealed = logs.seal(LIFE, "heir").await.unwrap();
    logs.collect(&sealed).await.unwrap();
    let kept = ["00000000000000000003", "collected"];
    assert_eq!(stored(&faults, LIFE).await, kept);
    // The writer was only paused.
    let late = conformance::append(&*wal, RANGE, 3, &[row("k", "v")]).await;
    assert!(late.is_err());
    assert!(logs.seal(LIFE, "another heir").await.unwrap().is_collected);
    assert!(recovered(&logs, &sealed, 0).await.is_empty());

    let now = now();
    logs.expire_seals(now + 6 * DAY).await.unwrap();
    assert_eq!(stored(&faults, LIFE).await, kept);
    logs.expire_seals(now + 8 * DAY).await.unwrap();
    assert!(stored(&faults, LIFE).await.is_empty());
}

/// The wall time, by which the store dates its objects.
fn now() -> SystemTime {
    use partita_rt::Clock;
    SystemClock.now()
}

#[tokio::test]
async fn a_server_collects_the_logs_of_its_earlier_lives() {
    let faults = FaultyStore::calm();
    let server = Server::new(faults.clone());
    for life in 1..=3 {
        let wal = open(&server).await;
        append(&*wal, life..=life).await;
    }
    let wal = open(&server).await;
    assert_eq!(recovered_ids(&*wal, RANGE), [1, 2, 3]);
    wal.release(RANGE, WalId(2));
    wal.maintain().await.unwrap();
    let logs = logs(&faults);
    assert_eq!(logs.uncollected().await.unwrap(), [Life(3), Life(4)]);
    wal.release(RANGE, WalId(3));
    wal.maintain().await.unwrap();
    assert_eq!(logs.uncollected().await.unwrap(), [Life(4)]);
}

#[tokio::test]
async fn of_two_servers_that_open_at_the_same_time_at_most_one_appends() {
    let faults = FaultyStore::calm();
    let (one, two) = (Server::new(faults.clone()), Server::new(faults.clone()));
    let resume = Resume::AfterStop;
    let (first, second) = futures::join!(one.storage.open(resume), two.storage.open(resume));
    let rows = [row("k", "v")];
    let mut appended = 0;
    for wal in [first.unwrap(), second.unwrap()] {
        appended += usize::from(conformance::append(&*wal, RANGE, 1, &rows).await.is_ok());
    }
    assert!(appended <= 1, "{appended}");
    let wal = open(&Server::new(faults)).await;
    assert_eq!(recovered_ids(&*wal, RANGE).len(), appended);
}

/// The WAL of a storage.
async fn opened(storage: &RemoteStorage, resume: Resume) -> Arc<dyn crate::Wal> {
    storage.open(resume).await.unwrap()
}

/// A storage whose log another one has sealed does not open again, also after the other has collected the log.
#[tokio::test]
async fn a_fenced_server_does_not_take_the_log_back() {
    let faults = FaultyStore::calm();
    let storage = || RemoteStorage::new(faults.store(), Arc::new(SystemClock), OPTIONS);
    let older = storage();
    let wal = opened(&older, Resume::AfterStop).await;
    append(&*wal, 1..=2).await;
    // After a failure that was not a fence.
    let wal = opened(&older, Resume::AfterFailure).await;
    append(&*wal, 3..=3).await;

    let newer = storage();
    let heir = opened(&newer, Resume::AfterStop).await;
    assert_eq!(recovered_ids(&*heir, RANGE), [1, 2, 3]);
    for _ in 0..2 {
        let refused = older.open(Resume::AfterFailure).await.err().unwrap();
        let OpenWalError::Fenced { log, note } = &refused else {
            panic!("{refused}");
        };
        assert_eq!(log, "the log of life 0000000000000002");
        assert_eq!(note, "life 0000000000000003, the next life of the server");
        heir.release(RANGE, WalId(3));
        heir.maintain().await.unwrap();
    }
    append(&*heir, 4..=4).await;
    assert!(
        stored(&faults, Life(2))
            .await
            .iter()
            .any(|name| name == "collected")
    );
}

/// A clean stop seals the log of the server itself.
#[tokio::test]
async fn a_stopped_server_is_not_fenced() {
    let faults = FaultyStore::calm();
    let storage = RemoteStorage::new(faults.store(), Arc::new(SystemClock), OPTIONS);
    let wal = opened(&storage, Resume::AfterStop).await;
    append(&*wal, 1..=1).await;
    wal.record_end().await.unwrap();
    let wal = opened(&storage, Resume::AfterStop).await;
    assert_eq!(recovered_ids(&*wal, RANGE), [1]);
}
