//! Several processes over one store, each with a log of its own.

use super::*;
use crate::conformance::{append as append_record, open, recovered_ids, row};
use crate::{OpenWalError, Resume, SharedLogs, Wal};

const OTHER: RangeId = RangeId(2);

/// A process of a cluster.
struct Process {
    storage: SharedStorage,
    wal: Arc<dyn Wal>,
    log: Life,
}

impl Process {
    async fn start(faults: &FaultyStore) -> Self {
        let storage = SharedStorage::new(faults.store(), Arc::new(SystemClock), OPTIONS);
        let wal = storage.open(Resume::AfterStop).await.unwrap();
        let log = storage.log().unwrap();
        Self { storage, wal, log }
    }

    /// The numbers of the records of a range in these logs.
    async fn ids(&self, range: RangeId, logs: &[Life]) -> Vec<u64> {
        let records = self.storage.records_of(range, logs).await.unwrap();
        let ids = records.iter().map(|record| record.header.wal_id.0);
        ids.collect()
    }

    async fn append_to(&self, range: RangeId, id: u64) -> Result<(), crate::AppendError> {
        append_record(&*self.wal, range, id, &[row("k", "v")]).await
    }
}

#[tokio::test]
async fn processes_write_side_by_side() {
    let faults = FaultyStore::calm();
    let one = Process::start(&faults).await;
    append(&*one.wal, 1..=2).await;
    let two = Process::start(&faults).await;
    two.append_to(OTHER, 1).await.unwrap();
    append(&*one.wal, 3..=3).await;
    assert_eq!((one.log, two.log), (Life(1), Life(2)));
    assert!(two.wal.recovered_ranges().is_empty());
    let uncollected = two.storage.uncollected().await.unwrap();
    assert_eq!(uncollected, [one.log, two.log]);
}

#[tokio::test]
async fn the_records_of_a_range_that_moved_are_found_in_order() {
    let faults = FaultyStore::new(1, STORM);
    let one = Process::start(&faults).await;
    append(&*one.wal, 1..=3).await;
    let two = Process::start(&faults).await;
    append(&*two.wal, 4..=5).await;
    append(&*one.wal, 6..=7).await;
    two.append_to(OTHER, 1).await.unwrap();

    let heir = Process::start(&faults).await;
    let both = [two.log, one.log, two.log];
    assert_eq!(heir.ids(RANGE, &both).await, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(heir.ids(RANGE, &[one.log]).await, [1, 2, 3, 6, 7]);
    assert_eq!(heir.ids(OTHER, &both).await, [1]);
    assert!(heir.ids(RangeId(3), &both).await.is_empty());
}

/// The writer was only paused. After the seal it acknowledges nothing, and does not open its log again.
#[tokio::test]
async fn a_process_whose_ranges_are_taken_over_is_fenced() {
    let faults = FaultyStore::calm();
    let (paused, heir) = (Process::start(&faults).await, Process::start(&faults).await);
    append(&*paused.wal, 1..=2).await;
    assert_eq!(heir.ids(RANGE, &[paused.log]).await, [1, 2]);
    assert!(paused.append_to(RANGE, 3).await.is_err());
    assert_eq!(heir.ids(RANGE, &[paused.log]).await, [1, 2]);
    let refused = paused
        .storage
        .open(Resume::AfterFailure)
        .await
        .err()
        .unwrap();
    assert_eq!(
        refused.to_string(),
        "another server has taken over the log of life 0000000000000001: \
         it was sealed by life 0000000000000002, which takes over its ranges"
    );
    append(&*heir.wal, 3..=3).await;
}

#[tokio::test]
async fn a_process_whose_log_failed_does_not_open_it_again() {
    let faults = FaultyStore::calm();
    let process = Process::start(&faults).await;
    faults.fail_next_put(AppendFault::Lost);
    assert!(process.append_to(RANGE, 1).await.is_err());
    let refused = process.storage.open(Resume::AfterFailure).await;
    assert!(matches!(refused, Err(OpenWalError::Ended { .. })));
    assert!(process.append_to(RANGE, 1).await.is_err());
}

#[tokio::test]
async fn a_log_is_read_once_for_all_its_ranges() {
    let faults = FaultyStore::calm();
    let dead = Process::start(&faults).await;
    for id in 1..=50 {
        dead.append_to(RANGE, id).await.unwrap();
        dead.append_to(OTHER, id).await.unwrap();
    }
    let heir = Process::start(&faults).await;
    let (logs, before) = ([dead.log], faults.requests());
    let read = futures::join!(heir.ids(RANGE, &logs), heir.ids(OTHER, &logs));
    assert_eq!((read.0.len(), read.1.len()), (50, 50));
    heir.ids(RangeId(3), &logs).await;
    let after = faults.requests();
    assert_eq!(
        after.lists - before.lists,
        2,
        "one before the seal, one after it"
    );
    assert_eq!(after.puts - before.puts, 1, "the seal");
    // 101 groups, the header of the highest one for each list, and the seal.
    assert_eq!(after.gets - before.gets, 101 + 2 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_was_read_is_forgotten_after_a_while() {
    let faults = FaultyStore::calm();
    let dead = Process::start(&faults).await;
    append(&*dead.wal, 1..=5).await;
    let heir = Process::start(&faults).await;
    heir.ids(RANGE, &[dead.log]).await;
    let gets_of_a_call = async || {
        let before = faults.requests().gets;
        heir.ids(RANGE, &[dead.log]).await;
        faults.requests().gets - before
    };
    heir.storage.forget_unused();
    assert_eq!(gets_of_a_call().await, 0);
    tokio::time::advance(Duration::from_secs(11)).await;
    heir.storage.forget_unused();
    assert!(gets_of_a_call().await >= 6);
}

#[tokio::test]
async fn the_own_log_and_missing_logs_have_no_records() {
    let faults = FaultyStore::calm();
    let heir = Process::start(&faults).await;
    append(&*heir.wal, 1..=2).await;
    let logs = [heir.log, Life(77)];
    assert!(heir.ids(RANGE, &logs).await.is_empty());
    assert!(stored(&faults, Life(77)).await.is_empty());
    heir.storage.collect(&logs).await.unwrap();
    append(&*heir.wal, 3..=3).await;
    let next = Process::start(&faults).await;
    assert_eq!(next.ids(RANGE, &[heir.log]).await, [1, 2, 3]);
}

/// A log is collected whether it was sealed or not; its writer, which was only paused, meets the seal.
#[tokio::test]
async fn a_collected_log_is_empty_and_stays_sealed() {
    let faults = FaultyStore::calm();
    let (paused, sealed) = (Process::start(&faults).await, Process::start(&faults).await);
    append(&*paused.wal, 1..=2).await;
    append(&*sealed.wal, 3..=3).await;
    let heir = Process::start(&faults).await;
    heir.ids(RANGE, &[sealed.log]).await;
    let logs = [paused.log, sealed.log, heir.log];
    for _ in 0..2 {
        heir.storage.collect(&logs).await.unwrap();
        assert_eq!(heir.storage.uncollected().await.unwrap(), [heir.log]);
    }
    assert!(paused.append_to(RANGE, 3).await.is_err());
    let next = Process::start(&faults).await;
    assert!(next.ids(RANGE, &[paused.log, sealed.log]).await.is_empty());
}

/// Two processes wrote one range at the same time, because the caller did not name a log to the second one.
#[tokio::test]
async fn two_records_with_one_number_are_an_error() {
    let faults = FaultyStore::calm();
    let (one, two) = (Process::start(&faults).await, Process::start(&faults).await);
    append(&*one.wal, 1..=2).await;
    append(&*two.wal, 2..=2).await;
    let heir = Process::start(&faults).await;
    let read = heir.storage.records_of(RANGE, &[one.log, two.log]).await;
    assert!(matches!(read, Err(OpenWalError::Damaged { .. })));
    let opened = Server::new(faults).storage.open(Resume::AfterStop).await;
    assert!(matches!(opened, Err(OpenWalError::Damaged { .. })));
}

/// A single server opens the store after the processes of a cluster, and a cluster after that server.
#[tokio::test]
async fn a_single_server_inherits_the_logs_of_a_cluster() {
    let faults = FaultyStore::calm();
    let (one, two) = (Process::start(&faults).await, Process::start(&faults).await);
    one.append_to(OTHER, 1).await.unwrap();
    append(&*one.wal, 1..=2).await;
    append(&*two.wal, 3..=200).await;
    append(&*one.wal, 201..=202).await;
    // The second process has released its oldest records, which says nothing about the log of the first.
    two.wal.release(RANGE, WalId(150));
    two.wal.maintain().await.unwrap();
    assert!(stored(&faults, two.log).await.len() < 100);

    let server = Server::new(faults.clone());
    let wal = open(&server).await;
    assert_eq!(recovered_ids(&*wal, OTHER), [1]);
    let found = recovered_ids(&*wal, RANGE);
    assert!(found[0] <= 151, "{found:?}");
    assert_eq!(found, (found[0]..=202).collect::<Vec<u64>>());
    for old in [&one, &two] {
        assert!(old.append_to(RANGE, 203).await.is_err());
    }
    append(&*wal, 203..=203).await;

    let heir = Process::start(&faults).await;
    let logs = heir.storage.uncollected().await.unwrap();
    assert_eq!(logs.len(), 4);
    let found = heir.ids(RANGE, &logs).await;
    assert!(found.ends_with(&[200, 201, 202, 203]), "{found:?}");
    assert!(
        append_record(&*wal, RANGE, 204, &[row("k", "v")])
            .await
            .is_err()
    );
}
