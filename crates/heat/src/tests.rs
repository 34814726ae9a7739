use super::*;
use crate::counters::mix;
use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const TABLE: &[u8] = b"\x20account\0tableid8";

pub(crate) fn partition(name: impl std::fmt::Display) -> Vec<u8> {
    [TABLE, format!("{name}\0").as_bytes()].concat()
}

pub(crate) fn request(partition: &[u8], access: Access, rows: u32) -> Request<'_> {
    Request {
        partition,
        table_bytes: TABLE.len(),
        access,
        rows,
        bytes_in: 10,
        bytes_out: 1_000,
        latency: Duration::from_micros(100),
    }
}

/// A uniform random number below 1.
pub(crate) fn chance(at: u64) -> f64 {
    (mix(at.wrapping_mul(0xD134_2543_DE82_EF95)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Records `count` reads, of the partitions that `choose` selects by a uniform number, and returns the load of each
/// partition.
fn read_all(heat: &Heat, count: u64, choose: impl Fn(f64) -> u64) -> HashMap<Vec<u8>, u64> {
    let mut loads = HashMap::new();
    for at in 0..count {
        let key = partition(format_args!("{:06}", choose(chance(at))));
        let request = request(&key, Access::Read, 1);
        heat.record(&request);
        *loads.entry(key).or_default() += request.load();
    }
    loads
}

fn share_left_of(loads: &HashMap<Vec<u8>, u64>, cut: &[u8]) -> f64 {
    let left = loads.iter().filter(|(key, _)| key.as_slice() < cut);
    left.map(|(_, load)| load).sum::<u64>() as f64 / loads.values().sum::<u64>() as f64
}

/// Asserts that the advised split is at the start of a partition and balances the load within 5 %.
fn balanced_cut(heat: &Heat, loads: &HashMap<Vec<u8>, u64>) {
    match heat.split_point() {
        SplitAdvice::Cut { key, left_share } => {
            assert!(loads.contains_key(&key[..]), "inside a partition");
            let exact = share_left_of(loads, &key);
            assert!((exact - left_share).abs() < 0.05, "{exact} {left_share}");
            assert!((exact - 0.5).abs() < 0.05, "{exact}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_window_counts_every_request_once() {
    let began = Instant::now();
    let heat = Heat::new(began);
    let key = partition("a");
    heat.record(&request(&key, Access::Read, 7));
    heat.record(&request(&key, Access::Write, 2));
    heat.record(&request(&key, Access::Insert, 1));
    heat.record(&request(&key, Access::Throttled, 100));
    let window = heat.roll(began + Duration::from_secs(10));
    let counts = Counts {
        reads: 1,
        writes: 2,
        rows_scanned: 7,
        rows_written: 3,
        bytes_in: 30,
        bytes_out: 3_000,
        throttled: 1,
    };
    assert_eq!(window.counts, counts);
    assert_eq!(window.elapsed, Duration::from_secs(10));
    assert_eq!(window.latency.count(), 3);
    assert!(window.latency.percentile_us(99).abs_diff(100) <= 3);
    let hot = heat.hot_partitions(5);
    assert_eq!(hot.len(), 1);
    let seen = hot[0].last;
    assert_eq!((seen.reads, seen.writes, seen.throttled), (1.0, 2.0, 1.0));
    assert_eq!((seen.rows_scanned, seen.rows_written), (7.0, 3.0));
    let [of_partition] = &window.partitions[..] else {
        panic!("{:?}", window.partitions);
    };
    assert_eq!(of_partition.partition, hot[0].partition);
    assert_eq!(of_partition.counts, counts);
    assert_eq!(of_partition.latency.buckets().iter().sum::<u32>(), 3);
    assert_eq!((seen.bytes_in, seen.bytes_out), (30.0, 3_000.0));
    let latency = hot[0].latency;
    assert_eq!((latency.p50_us, latency.p99_us), (Some(112), Some(112)));
    let next = heat.roll(began + Duration::from_secs(12));
    assert!(next.counts.is_idle());
    assert_eq!(next.elapsed, Duration::from_secs(2));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test needs real threads")]
fn roll_loses_no_concurrent_requests() {
    const THREADS: usize = 6;
    const EACH: u64 = 40_000;
    let heat = Heat::new(Instant::now());
    let (start, done) = (Barrier::new(THREADS + 1), AtomicBool::new(false));
    let (mut counts, mut latencies) = (Counts::default(), 0);
    std::thread::scope(|scope| {
        let recorders: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (heat, start) = (&heat, &start);
                scope.spawn(move || {
                    start.wait();
                    for at in 0..EACH {
                        let key = partition(at % 300);
                        let access = if at.is_multiple_of(2) {
                            Access::Read
                        } else {
                            Access::Insert
                        };
                        heat.record(&request(&key, access, thread as u32));
                    }
                })
            })
            .collect();
        let roller = scope.spawn(|| {
            start.wait();
            loop {
                let last = done.load(Ordering::Acquire);
                let window = heat.roll(Instant::now());
                counts += window.counts;
                latencies += window.latency.count();
                if last {
                    return;
                }
            }
        });
        for recorder in recorders {
            recorder.join().unwrap();
        }
        done.store(true, Ordering::Release);
        roller.join().unwrap();
    });
    let requests = THREADS as u64 * EACH;
    assert_eq!((counts.reads, counts.writes), (requests / 2, requests / 2));
    assert_eq!(latencies, requests);
    assert_eq!(counts.bytes_out, requests * 1_000);
    let rows = (0..THREADS as u64).sum::<u64>() * EACH / 2;
    assert_eq!((counts.rows_scanned, counts.rows_written), (rows, rows));
}

#[test]
fn a_sampled_partition_is_estimated_well() {
    let heat = Heat::new(Instant::now());
    // Every tenth request goes to the same partition. A sample of every n-th request could contain all of these
    // requests, or none.
    for at in 0..200_000_u64 {
        let key = partition(if at % 10 == 0 { 0 } else { at % 1_000 });
        heat.record(&request(&key, Access::Read, 1));
    }
    assert_eq!(heat.shift.load(Ordering::Relaxed), 10);
    let notes = heat.profile.lock().notes;
    assert!((10_000..40_000).contains(&notes), "{notes}");
    heat.roll(Instant::now());
    let hot = heat.hot_partitions(1);
    assert_eq!(hot[0].partition, partition(0));
    assert!((hot[0].share - 0.1).abs() < 0.01, "{hot:?}");
    assert!((hot[0].last.reads - 20_000.0).abs() < 1_500.0, "{hot:?}");
    assert!(
        (hot[0].last.rows_scanned - 20_000.0).abs() < 1_500.0,
        "{hot:?}"
    );
    assert_eq!(heat.shift.load(Ordering::Relaxed), 0);
}

#[test]
fn even_load_is_split_in_the_middle() {
    let heat = Heat::new(Instant::now());
    let loads = read_all(&heat, 50_000, |chance| (chance * 2_000.0) as u64);
    balanced_cut(&heat, &loads);
    // A split point is computed from the current and the last closed window, not from earlier ones.
    heat.roll(Instant::now());
    balanced_cut(&heat, &loads);
    heat.roll(Instant::now());
    assert_eq!(heat.split_point(), SplitAdvice::NotEnoughLoad);
}

#[test]
fn skewed_load_is_split_by_load_and_not_by_keys() {
    let heat = Heat::new(Instant::now());
    let loads = read_all(&heat, 100_000, |chance| 5_000.0_f64.powf(chance) as u64);
    balanced_cut(&heat, &loads);
}

#[test]
fn rows_count_as_load_like_requests() {
    let heat = Heat::new(Instant::now());
    for at in 0..20_000_u64 {
        let number = at % 100;
        // The last ten partitions are scanned: 2,656 units of load against 1,530.
        let rows = if number >= 90 { 250 } else { 1 };
        heat.record(&request(
            &partition(format_args!("{number:02}")),
            Access::Read,
            rows,
        ));
    }
    match heat.split_point() {
        SplitAdvice::Cut { key, left_share } => {
            let expected = [partition("91"), partition("92")];
            assert!(expected.contains(&key.to_vec()), "{key:?}");
            assert!((0.40..0.62).contains(&left_share), "{left_share}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_hot_partition_is_named_with_its_share() {
    let heat = Heat::new(Instant::now());
    let hot = |chance: f64| {
        if chance < 0.8 {
            500
        } else {
            (chance * 1_000.0) as u64
        }
    };
    read_all(&heat, 60_000, hot);
    match heat.split_point() {
        SplitAdvice::OneHotPartition {
            partition: named,
            share,
        } => {
            assert_eq!(named, partition("000500"));
            assert!((share - 0.8).abs() < 0.03, "{share}");
        }
        other => panic!("{other:?}"),
    }
}

/// Inserts the partitions that `name` returns for each number, over several windows, and returns the growth of the
/// table.
fn growth_of(count: u64, name: impl Fn(u64) -> u64) -> (Pattern, f64) {
    let heat = Heat::new(Instant::now());
    for at in 0..count {
        let key = partition(format_args!("{:08}", name(at)));
        heat.record(&request(&key, Access::Insert, 1));
        if at % 5_000 == 4_999 {
            heat.roll(Instant::now());
        }
    }
    let growth = heat.growth();
    assert_eq!(growth.len(), 1);
    assert_eq!(growth[0].table, TABLE);
    (growth[0].pattern, growth[0].end_share)
}

/// Unsynchronized clients: each number arrives up to 100 positions late.
fn late(at: u64) -> u64 {
    at + 100 - (chance(at) * 100.0) as u64
}

#[test]
fn growth_at_one_end_is_recognised() {
    assert_eq!(growth_of(20_000, |at| at).0, Pattern::AppendOnly);
    assert_eq!(growth_of(20_000, late).0, Pattern::AppendOnly);
    assert_eq!(
        growth_of(20_000, |at| late(at) / 700).0,
        Pattern::AppendOnly
    );
    let (pattern, share) = growth_of(20_000, |at| 90_000_000 - late(at));
    assert_eq!(pattern, Pattern::PrependOnly);
    assert!(share > 0.9);
    // 5 % of the inserts go to random keys.
    let nearly = |at: u64| {
        if at.is_multiple_of(20) {
            (chance(at) * 9_000.0) as u64
        } else {
            10_000 + at
        }
    };
    assert_eq!(growth_of(20_000, nearly).0, Pattern::AppendOnly);
}

#[test]
fn other_patterns_of_growth_are_spread() {
    let anywhere = |at: u64| (chance(at) * 9e7) as u64;
    let (pattern, share) = growth_of(20_000, anywhere);
    assert_eq!(pattern, Pattern::Spread);
    assert!(share < 0.1, "{share}");
    // Cases: both ends, 25 % at random keys, a single partition, two partitions in turn.
    let both = |at: u64| {
        if at.is_multiple_of(2) {
            50_000_000 + at
        } else {
            50_000_000 - at
        }
    };
    assert_eq!(growth_of(20_000, both).0, Pattern::Spread);
    let quarter = |at: u64| {
        if at.is_multiple_of(4) {
            anywhere(at) / 9
        } else {
            20_000_000 + at
        }
    };
    assert_eq!(growth_of(20_000, quarter).0, Pattern::Spread);
    assert_eq!(growth_of(20_000, |_| 7).0, Pattern::Spread);
    assert_eq!(growth_of(20_000, |at| at % 2).0, Pattern::Spread);
}

/// The number of inserts in a window.
const PER_WINDOW: u64 = 600;
/// The number of old rows in a table.
const OLD: u64 = 10_000_000;

/// Inserts at the growing end of a table for some windows. After each insert, `also` selects another request by the
/// number of the insert. Returns the advice after each window, from the fourth window on, when growth is detected.
fn advice_while_growing(
    windows: u64,
    name: impl Fn(u64) -> u64,
    also: impl Fn(u64) -> (Access, u64),
) -> Vec<SplitAdvice> {
    let heat = Heat::new(Instant::now());
    let ask = |access, number| {
        let key = partition(format_args!("{number:08}"));
        heat.record(&request(&key, access, 1));
    };
    let advised = (0..windows).map(|window| {
        for at in window * PER_WINDOW..(window + 1) * PER_WINDOW {
            ask(Access::Insert, name(at));
            let (access, number) = also(at);
            ask(access, number);
        }
        heat.roll(Instant::now());
        heat.split_point()
    });
    advised.skip(3).collect()
}

fn grows(advice: &SplitAdvice) -> bool {
    matches!(advice, SplitAdvice::GrowsAtOneEnd { table, share } if table == TABLE && *share > 0.9)
}

#[test]
fn a_growing_end_is_not_split() {
    let rising = |at: u64| OLD + late(at);
    let falling = |at: u64| OLD - late(at);
    // New rows are updated immediately, or read for minutes.
    let updated = advice_while_growing(40, rising, |at| (Access::Write, rising(at)));
    assert!(updated.iter().all(grows), "{updated:?}");
    let updated = advice_while_growing(40, falling, |at| (Access::Write, falling(at)));
    assert!(updated.iter().all(grows), "{updated:?}");
    let lately = |at: u64| (chance(at) * (at.min(20 * PER_WINDOW) as f64)) as u64;
    let read = |at: u64| (Access::Read, OLD + at - lately(at));
    let read = advice_while_growing(70, rising, read);
    assert!(read.iter().all(grows), "{read:?}");
}

#[test]
fn reads_are_split_from_a_growing_end() {
    let rising = |at: u64| OLD + late(at);
    let anywhere = |at: u64| (Access::Read, (chance(at) * OLD as f64) as u64);
    let advised = advice_while_growing(40, rising, anywhere);
    for advice in &advised {
        let SplitAdvice::Cut { key, left_share } = advice else {
            panic!("{advice:?}");
        };
        // Reads on the left, inserts on the right.
        assert!((left_share - 0.5).abs() < 0.05, "{left_share}");
        assert!(
            *key > partition(format_args!("{:08}", OLD / 10 * 9)),
            "{key:?}"
        );
    }
}

#[test]
fn a_table_that_stopped_growing_is_split_normally() {
    let heat = Heat::new(Instant::now());
    for at in 0..10 * PER_WINDOW {
        let key = partition(format_args!("{:06}", late(at)));
        heat.record(&request(&key, Access::Insert, 1));
        if at % PER_WINDOW == PER_WINDOW - 1 {
            heat.roll(Instant::now());
        }
    }
    assert!(grows(&heat.split_point()));
    let mut loads = HashMap::new();
    for _ in 0..6 {
        loads = read_all(&heat, 2_000, |chance| (chance * 10_000.0) as u64);
        heat.roll(Instant::now());
    }
    assert_eq!(heat.growth(), []);
    balanced_cut(&heat, &loads);
}

#[test]
fn memory_is_bounded_for_a_million_partitions() {
    let heat = Heat::new(Instant::now());
    for at in 0..1_000_000_u64 {
        let table = at % 1_000;
        let key = format!("table-{table:04}\0partition-{at}\0");
        heat.record(&Request {
            table_bytes: 11,
            ..request(key.as_bytes(), Access::Insert, (at % 50) as u32)
        });
        if at % 100_000 == 0 {
            heat.roll(Instant::now());
        }
    }
    let profile = heat.profile.lock();
    assert!(profile.top.bytes() <= 120 << 10, "{}", profile.top.bytes());
    let sample = profile.sample.bytes();
    assert!(sample <= 224 << 10, "{sample}");
    assert!(profile.sample.count() > 2_000);
    let growth = profile.growth.key_bytes();
    assert!(growth <= growth::TABLES_MAX * 9 * 64, "{growth}");
}
