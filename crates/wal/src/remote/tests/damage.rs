//! Lost and damaged objects are errors that name the object.

use object_store::path::Path;

use super::*;
use crate::{OpenWalError, Resume};

/// A log with ten records, one a group, in the numbers 1 to 10.
async fn log_of_ten(faults: &FaultyStore) -> RemoteLogs {
    let logs = logs(faults);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=10).await;
    logs
}

async fn delete(faults: &FaultyStore, path: &Path) {
    faults.objects().delete(path).await.unwrap();
}

/// Overwrites an object with a changed copy.
async fn change(faults: &FaultyStore, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let objects = faults.objects();
    let mut bytes = objects
        .get(path)
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap()
        .to_vec();
    change(&mut bytes);
    objects.put(path, bytes.into()).await.unwrap();
}

fn name(error: &OpenWalError) -> &str {
    match error {
        OpenWalError::Missing { path, .. } | OpenWalError::Damaged { path, .. } => path,
        other => panic!("another error: {other}"),
    }
}

/// Seals and reads the log, and returns the error.
async fn read_error(logs: &RemoteLogs) -> OpenWalError {
    let sealed = match logs.seal(LIFE, "heir").await {
        Ok(sealed) => sealed,
        Err(error) => return error,
    };
    let ranges = BTreeMap::from([(RANGE, WalId(0))]);
    logs.reader(LIFE).read(&sealed, &ranges).await.unwrap_err()
}

#[tokio::test]
async fn a_missing_group_before_a_later_one_is_an_error() {
    for lost in 1..10 {
        let faults = FaultyStore::calm();
        let logs = log_of_ten(&faults).await;
        delete(&faults, &LIFE.path(lost)).await;
        let error = read_error(&logs).await;
        assert!(matches!(error, OpenWalError::Missing { .. }), "{error}");
        assert_eq!(name(&error), LIFE.path(lost).as_ref());
    }
}

#[tokio::test]
async fn a_missing_group_below_a_seal_is_an_error() {
    for lost in 1..=10 {
        let faults = FaultyStore::calm();
        let logs = log_of_ten(&faults).await;
        let sealed = logs.seal(LIFE, "heir").await.unwrap();
        delete(&faults, &LIFE.path(lost)).await;
        let ranges = BTreeMap::from([(RANGE, WalId(0))]);
        let read = logs.reader(LIFE).read(&sealed, &ranges).await;
        assert_eq!(name(&read.unwrap_err()), LIFE.path(lost).as_ref());
        let again = logs.seal(LIFE, "another heir").await;
        assert_eq!(name(&again.unwrap_err()), LIFE.path(lost).as_ref());
    }
}

#[tokio::test]
async fn a_clean_stop_shows_that_the_newest_group_is_missing() {
    let faults = FaultyStore::calm();
    let logs = logs(&faults);
    let wal = logs.begin(LIFE).await.unwrap();
    append(&*wal, 1..=3).await;
    wal.record_end().await.unwrap();
    assert!(wal.record_end().await.is_err(), "the log has ended");
    delete(&faults, &LIFE.path(3)).await;
    assert_eq!(name(&read_error(&logs).await), LIFE.path(3).as_ref());
}

#[tokio::test]
async fn a_damaged_object_is_an_error() {
    for number in 1..=11 {
        for cut in [false, true] {
            let faults = FaultyStore::calm();
            let logs = log_of_ten(&faults).await;
            logs.seal(LIFE, "heir").await.unwrap();
            change(&faults, &LIFE.path(number), |bytes| {
                if cut {
                    bytes.truncate(50);
                } else {
                    bytes[70] ^= 1;
                }
            })
            .await;
            let error = read_error(&logs).await;
            assert!(matches!(error, OpenWalError::Damaged { .. }), "{error}");
            assert_eq!(name(&error), LIFE.path(number).as_ref());
        }
    }
}

#[tokio::test]
async fn an_object_of_another_name_is_an_error() {
    let faults = FaultyStore::calm();
    let logs = log_of_ten(&faults).await;
    let objects = faults.objects();
    objects.copy(&LIFE.path(4), &LIFE.path(5)).await.unwrap();
    assert_eq!(name(&read_error(&logs).await), LIFE.path(5).as_ref());
}

/// The engine, which knows the flushed records, finds that others are missing before these.
#[tokio::test]
async fn of_the_records_around_a_lost_log_only_the_newest_are_read_back() {
    let faults = FaultyStore::calm();
    let server = Server::new(faults.clone());
    for life in 1..=3 {
        let wal = server.storage.open(Resume::AfterStop).await.unwrap();
        append(&*wal, life..=life).await;
    }
    for number in 0..3 {
        let _ = faults.objects().delete(&Life(2).path(number)).await;
    }
    let wal = conformance::open(&server).await;
    assert_eq!(conformance::recovered_ids(&*wal, RANGE), [3]);
}
