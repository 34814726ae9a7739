//! Random interleavings of a writer, late PUTs, two heirs and deletions, in virtual time. The rule that they check is
//! that of `crates/cluster-model`: the heir that holds the manifest recovers every acknowledged record.
//!
//! A seed gives all delays and faults of the store, the groups, the flushes, and when the heirs begin. Without one of
//! the rules of the log, some seed must break the rule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{join, join3};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::super::planted::{Rule, drop_rule};
use super::super::requests::Requests;
use super::*;
use crate::Wal;
use crate::conformance::{row, size};
use crate::{RangeId, RecordHeader, WalId};

mod two_in_flight;

/// Each object can be released alone, so that floors move often. A log is at rest only after some groups' time.
const SMALL: Options = Options {
    rest: Duration::from_millis(20),
    segment_bytes: 1,
    request_timeout: Duration::from_millis(100),
    ..OPTIONS
};

const GROUPS: u64 = 40;
const RANGES: [RangeId; 2] = [RangeId(1), RangeId(2)];

type Ids = BTreeMap<RangeId, WalId>;

/// What the processes share besides the store.
#[derive(Default)]
struct Shared {
    /// The last acknowledged record of each range.
    acknowledged: Ids,
    /// The manifest: the last record of each range whose rows are in the data files, and the heir that claimed it.
    flushed: Ids,
    holder: Option<usize>,
    /// What the heir that holds the manifest has recovered.
    recovered: Option<Ids>,
    /// What went wrong.
    violations: Vec<String>,
}

/// One run.
struct Run {
    shared: Mutex<Shared>,
    random: Mutex<fastrand::Rng>,
}

impl Run {
    async fn pause(&self, millis_max: u64) {
        let micros = self.random.lock().u64(0..=millis_max * 1_000);
        sleep(Duration::from_micros(micros)).await;
    }

    fn chance(&self, percent: u32) -> bool {
        self.random.lock().u32(0..100) < percent
    }

    fn violated(&self, what: String) {
        self.shared.lock().violations.push(what);
    }

    /// Checks the rule: what is acknowledged is recovered.
    fn check(&self, when: &str) {
        let mut shared = self.shared.lock();
        let Some(recovered) = &shared.recovered else {
            return;
        };
        let lost = shared
            .acknowledged
            .iter()
            .find(|(range, last)| recovered.get(range).is_none_or(|found| found < last));
        if let Some((range, last)) = lost {
            let what = format!("{when}: record {} of range {range} is lost", last.0);
            shared.violations.push(what);
        }
    }

    /// Appends groups until it is fenced.
    async fn write(&self, wal: &dyn Wal) {
        let mut last: Ids = Ids::new();
        let rows = [row("k", "v")];
        for _ in 0..GROUPS {
            self.pause(4).await;
            let both = self.chance(20);
            let first = usize::from(self.chance(50));
            let ranges = if both {
                &RANGES[..]
            } else {
                &RANGES[first..=first]
            };
            let mut sizes = ranges.iter().map(|_| size(&rows));
            wal.make_room(&mut sizes).await.unwrap();
            for range in ranges {
                let id = last.entry(*range).or_default();
                id.0 += 1;
                let header = RecordHeader {
                    range: *range,
                    wal_id: *id,
                    seq: id.0,
                };
                let rows = &mut rows.iter().map(crate::Row::as_ref);
                if wal.add(header, size(&[row("k", "v")]), rows).is_err() {
                    return;
                }
            }
            if wal.append_group().await.is_err() {
                return;
            }
            let mut shared = self.shared.lock();
            for range in ranges {
                shared.acknowledged.insert(*range, last[range]);
            }
            drop(shared);
            self.check("after an acknowledgement");
        }
    }

    /// Flushes ranges until an heir claims the manifest, and deletes objects.
    async fn maintain(&self, wal: &dyn Wal) {
        for _ in 0..GROUPS {
            self.pause(8).await;
            let range = RANGES[usize::from(self.chance(50))];
            {
                let mut shared = self.shared.lock();
                if let (None, Some(last)) = (shared.holder, shared.acknowledged.get(&range)) {
                    let last = *last;
                    shared.flushed.insert(range, last);
                    wal.release(range, last);
                }
            }
            let _ = wal.maintain().await;
        }
    }

    /// Seals the log, claims the manifest, replays and flushes.
    async fn take_over(&self, heir: usize, logs: &RemoteLogs) {
        self.pause(160).await;
        let mut reader = logs.reader(LIFE);
        if self.chance(50) {
            let _ = reader.read_ahead().await;
        }
        self.pause(20).await;
        let sealed = match logs.seal(LIFE, "heir").await {
            Ok(sealed) => sealed,
            Err(error) => return self.violated(format!("heir {heir} cannot seal: {error:?}")),
        };
        let mut recovered = {
            let mut shared = self.shared.lock();
            shared.holder = Some(heir);
            shared.recovered = None;
            shared.flushed.clone()
        };
        self.pause(20).await;
        let ranges =
            RANGES.map(|range| (range, recovered.get(&range).copied().unwrap_or_default()));
        let found = match reader.read(&sealed, &BTreeMap::from(ranges)).await {
            Ok(found) => found,
            Err(error) => return self.violated(format!("heir {heir} cannot read: {error:?}")),
        };
        for (range, records) in found {
            if let Some(last) = records.last() {
                recovered.insert(range, last.header.wal_id);
            }
        }
        let mut shared = self.shared.lock();
        if shared.holder == Some(heir) {
            shared.flushed = recovered.clone();
            shared.recovered = Some(recovered);
        }
        drop(shared);
        self.check("after a take-over");
    }
}

/// How a seed's store behaves: from calm to stormy.
fn weather(random: &mut fastrand::Rng) -> Weather {
    let mut percent = |most| {
        if random.bool() {
            random.u32(0..=most)
        } else {
            0
        }
    };
    Weather {
        error_before: percent(20),
        error_after: percent(20),
        late: percent(20),
        twice: percent(30),
        unanswered: percent(5),
        losers_fail: random.bool(),
        pages_of_one: random.bool(),
        delay_max: Duration::from_millis(random.u64(0..=15)),
    }
}

/// Who writes the log.
#[derive(Clone, Copy)]
enum Writer {
    /// The WAL, with one PUT in flight.
    OneInFlight,
    /// A writer of the test, with two PUTs in flight.
    TwoInFlight,
}

/// Runs a seed, and returns what went wrong first.
fn run(writer: Writer, seed: u64) -> Option<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let store = FaultyStore::new(random.u64(..), weather(&mut random));
    let run = Run {
        shared: Mutex::default(),
        random: Mutex::new(random),
    };
    paused_runtime().block_on(async {
        let logs = RemoteLogs::new(store.store(), SMALL);
        let wal: Arc<dyn Wal> = logs.begin(LIFE).await.unwrap();
        let requests = Requests {
            store: store.store(),
            options: SMALL,
        };
        let writing = async {
            match writer {
                Writer::OneInFlight => {
                    join(run.write(&*wal), run.maintain(&*wal)).await;
                }
                Writer::TwoInFlight => two_in_flight::write(&run, &requests).await,
            }
        };
        join3(writing, run.take_over(0, &logs), run.take_over(1, &logs)).await;
        // Late PUTs have their effect, and change nothing.
        sleep(Duration::from_secs(10)).await;
        run.check("at the end");
        check_end(&run, &logs).await;
    });
    run.shared.into_inner().violations.into_iter().next()
}

/// A further seal finds the same end, and the log without its writer has what was acknowledged.
async fn check_end(run: &Run, logs: &RemoteLogs) {
    let (first, second) = (logs.seal(LIFE, "a").await, logs.seal(LIFE, "b").await);
    match (first, second) {
        (Ok(first), Ok(second)) if first == second => {}
        ends => run.violated(format!("the end of the log moved: {ends:?}")),
    }
}

/// The first of `seeds` seeds that breaks the rule, and how.
fn first_violation(writer: Writer, seeds: u64) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| run(writer, seed).map(|what| (seed, what)))
}

#[test]
fn an_heir_recovers_every_acknowledged_record() {
    drop_rule(None);
    // `LOG_SEEDS=100000` runs more.
    let seeds = std::env::var("LOG_SEEDS").ok();
    let seeds = seeds.map_or(300, |seeds| seeds.parse().unwrap());
    for writer in [Writer::OneInFlight, Writer::TwoInFlight] {
        assert_eq!(first_violation(writer, seeds), None);
    }
}

#[test]
fn without_a_rule_a_record_is_lost() {
    let (one, two) = (Writer::OneInFlight, Writer::TwoInFlight);
    for (rule, writer) in [
        (Rule::PutIfAbsent, one),
        (Rule::DurableBeforeAcknowledged, one),
        (Rule::NonceCompared, one),
        (Rule::AcknowledgedInOrder, two),
        (Rule::FloorOfAcknowledged, two),
        (Rule::DeletedBelowFloor, one),
        (Rule::SealedBeforeReplay, one),
        (Rule::SealAboveFloor, one),
        (Rule::ListedAfterSeal, one),
        (Rule::LowSealsIgnored, one),
    ] {
        drop_rule(Some(rule));
        let violation = first_violation(writer, 4_000);
        drop_rule(None);
        let (seed, what) = violation.unwrap_or_else(|| panic!("{rule:?} is not needed"));
        println!("{rule:?}: seed {seed}, {what}");
    }
}
