use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use object_store::{ObjectStore, ObjectStoreExt};
use partita_rt::SystemClock;
use proptest::prelude::*;

use self::faulty_store::{FaultyStore, Weather};
use super::*;
use crate::conformance::{self, Subject, script};
use crate::{AppendFault, RangeId, WalId, WalStorage};

mod damage;
mod faults;
mod faulty_store;
mod interleavings;
mod objects;
mod processes;
mod several_processes;
mod take_over;

/// The sizes of the conformance suite. The log is at rest at once.
const OPTIONS: Options = Options {
    gap: Duration::ZERO,
    flush_after_bytes: conformance::FLUSH_AFTER_SEGMENTS * conformance::SEGMENT_BYTES,
    flush_after_age: Duration::from_secs(3_600),
    live_bytes_max: conformance::LIVE_SEGMENTS_MAX * conformance::SEGMENT_BYTES,
    segment_bytes: conformance::SEGMENT_BYTES,
    rest: Duration::ZERO,
    request_timeout: Duration::from_millis(500),
    patience: Duration::from_secs(60),
};

const LIFE: Life = Life(7);
const RANGE: RangeId = RangeId(1);

/// A WAL of a single server.
struct Server {
    faults: FaultyStore,
    storage: RemoteStorage,
}

impl Server {
    fn new(faults: FaultyStore) -> Self {
        let storage = RemoteStorage::new(faults.store(), Arc::new(SystemClock), OPTIONS);
        Self { faults, storage }
    }
}

impl Subject for Server {
    fn storage(&self) -> &dyn WalStorage {
        &self.storage
    }

    fn fail_next_append(&self, fault: AppendFault) {
        self.faults.fail_next_put(fault);
    }

    fn has_limited_space(&self) -> bool {
        false
    }

    fn set_full(&self, _full: bool) {
        unreachable!("an object store has no limited space");
    }
}

/// Every fault that leaves the outcome of a request open, and lists of one object a page.
const STORM: Weather = Weather {
    delay_max: Duration::from_millis(5),
    error_before: 10,
    error_after: 10,
    late: 5,
    twice: 10,
    unanswered: 2,
    losers_fail: true,
    pages_of_one: true,
};

#[tokio::test]
async fn conforms() {
    conformance::run(|| Box::new(Server::new(FaultyStore::calm()))).await;
}

#[tokio::test(start_paused = true)]
async fn conforms_over_an_unreliable_store() {
    let mut seed = 0;
    conformance::run(|| {
        seed += 1;
        Box::new(Server::new(FaultyStore::new(seed, STORM)))
    })
    .await;
}

fn paused_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn keeps_acknowledged_records(steps in script::steps(), seed in any::<u64>(), storm in any::<bool>()) {
        let weather = if storm { STORM } else { Weather::default() };
        let server = Server::new(FaultyStore::new(seed, weather));
        paused_runtime().block_on(script::play(&server, &steps));
    }
}

/// The log of the first life is not collected yet, and its record is followed by one that was released.
#[test]
fn released_records_of_an_earlier_life_are_not_taken_for_a_gap() {
    use script::Step::{Crash, Group, Release};
    let group = |records: &[(u64, usize)]| Group(records.iter().copied().collect());
    let steps = [
        group(&[(2, 1)]),
        Crash,
        group(&[(0, 3_381), (2, 1), (3, 3_363)]),
        Release(3, 0),
        group(&[(2, 1)]),
        Release(0, 0),
        Release(2, 0),
        group(&[(0, 1)]),
    ];
    let server = Server::new(FaultyStore::calm());
    paused_runtime().block_on(script::play(&server, &steps));
}

fn logs(faults: &FaultyStore) -> RemoteLogs {
    RemoteLogs::new(faults.store(), OPTIONS)
}

/// Objects of a log that have not been deleted, by name.
async fn stored(faults: &FaultyStore, life: Life) -> Vec<String> {
    use futures::TryStreamExt;
    let listed = faults.objects().list(Some(&life.folder()));
    let listed: Vec<_> = listed.try_collect().await.unwrap();
    let names = listed
        .iter()
        .filter_map(|object| object.location.filename());
    names.map(str::to_owned).collect()
}

/// Appends records of [`RANGE`], one a group.
async fn append(wal: &dyn crate::Wal, ids: std::ops::RangeInclusive<u64>) {
    for id in ids {
        conformance::append(wal, RANGE, id, &[conformance::row("k", "v")])
            .await
            .unwrap();
    }
}

/// The records of [`RANGE`] after `flushed` that the sealed log has.
async fn recovered(logs: &RemoteLogs, sealed: &SealedLog, flushed: u64) -> Vec<u64> {
    let ranges = BTreeMap::from([(RANGE, WalId(flushed))]);
    let found = logs
        .reader(sealed.life)
        .read(sealed, &ranges)
        .await
        .unwrap();
    let records = found.get(&RANGE).into_iter().flatten();
    records.map(|record| record.header.wal_id.0).collect()
}
