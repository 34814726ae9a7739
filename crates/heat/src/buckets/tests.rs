use super::*;
use crate::tests::{chance, partition, request};
use crate::{Access, Counts, Heat, KeyBucket, Window};
use std::time::Instant;

/// Records reads of these partitions, and closes the window.
fn window(heat: &Heat, partitions: impl IntoIterator<Item = Vec<u8>>) -> Window {
    for key in partitions {
        heat.record(&request(&key, Access::Read, 1));
    }
    heat.roll(Instant::now())
}

/// `count` reads of random partitions among `partitions` ones.
fn spread(window: u64, count: u64, partitions: u64) -> impl Iterator<Item = Vec<u8>> {
    let number = move |at| (chance(window * 1_000_000 + at) * partitions as f64) as u64;
    (0..count).map(move |at| partition(format_args!("{:06}", number(at))))
}

fn starts(heat: &Heat) -> Vec<Bytes> {
    heat.profile.lock().buckets.starts.clone()
}

/// The reads of the buckets that overlap keys from `from` on and before `to`.
fn reads_within(window: &Window, from: &[u8], to: &[u8]) -> u64 {
    let overlaps = |bucket: &&KeyBucket| {
        &bucket.start[..] < to && bucket.end.as_ref().is_none_or(|end| &end[..] > from)
    };
    let buckets = window.buckets.iter().filter(overlaps);
    buckets.map(|bucket| bucket.counts.reads).sum()
}

#[test]
fn the_counts_of_buckets_add_up_to_those_of_the_range() {
    let heat = Heat::new(Instant::now());
    for number in 0..4 {
        for key in spread(number, 20_000, 700) {
            heat.record(&request(&key, Access::Read, 3));
        }
        for key in spread(number + 9, 900, 50) {
            heat.record(&request(&key, Access::Insert, 1));
            heat.record(&request(&key, Access::Throttled, 1));
        }
        let window = heat.roll(Instant::now());
        let (mut counts, mut latency) = (Counts::default(), CoarseLatency::new());
        for bucket in &window.buckets {
            counts += bucket.counts;
            latency += &bucket.latency;
        }
        assert_eq!(counts, window.counts);
        assert_eq!(latency, CoarseLatency::from(&window.latency));
        assert!(window.buckets.len() >= 10, "{}", window.buckets.len());
    }
}

#[test]
fn a_steady_load_is_divided_once_into_about_equal_buckets() {
    let heat = Heat::new(Instant::now());
    let first = window(&heat, spread(0, 30_000, 5_000));
    let count = first.buckets.len();
    assert!((20..=40).contains(&count), "{count}");
    for bucket in &first.buckets {
        let share = bucket.counts.reads as f64 / 30_000.0;
        assert!((0.01..0.08).contains(&share), "{share}");
    }
    let divided = starts(&heat);
    for number in 1..30 {
        window(&heat, spread(number, 30_000, 5_000));
        assert_eq!(starts(&heat), divided, "window {number}");
    }
}

#[test]
fn a_hot_partition_has_a_bucket_of_its_own() {
    let heat = Heat::new(Instant::now());
    let hot = partition("002500");
    let others = spread(0, 10_000, 5_000).flat_map(|key| [key, partition("002500")]);
    let window = window(&heat, others);
    let bucket = window.buckets.iter().find(|bucket| bucket.start == hot);
    let reads = bucket.unwrap().counts.reads;
    assert!((9_000..11_000).contains(&reads), "{reads}");
}

#[test]
fn buckets_have_the_load_of_one_table() {
    let heat = Heat::new(Instant::now());
    let key = |table: u8, number: u64| {
        [
            b"account\0table",
            &[table][..],
            format!("{number:04}\0").as_bytes(),
        ]
        .concat()
    };
    let table_bytes = key(0, 0).len() - 5;
    let window = || {
        for at in 0..3_000 {
            let number = (chance(at) * 100.0) as u64;
            // The second table has a tenth of the load.
            let table = if at % 10 == 0 { b'2' } else { b'1' };
            heat.record(&crate::Request {
                partition: &key(table, number),
                table_bytes,
                ..request(b"", Access::Read, 1)
            });
        }
        heat.roll(Instant::now())
    };
    let second = &key(b'2', 0)[..table_bytes];
    // In the first window the tables are one bucket, which is divided by the sample; in the second one they are counted.
    for error_max in [100, 0] {
        let (mut before, mut behind) = (0, 0);
        for bucket in window().buckets {
            let is_behind = &bucket.start[..] >= second;
            let end = bucket.end.as_deref();
            assert!(is_behind || end.is_some_and(|end| end <= second));
            *(if is_behind { &mut behind } else { &mut before }) += bucket.counts.reads;
        }
        assert_eq!(before + behind, 3_000);
        assert!(300_u64.abs_diff(behind) <= error_max, "{behind}");
    }
}

/// A bucket of keys that a table grows to later has no load before.
#[test]
fn the_load_of_a_growing_table_is_at_the_keys_of_its_time() {
    let heat = Heat::new(Instant::now());
    let at = |window: u64, number: u64| partition(format_args!("{:06}", window * 100 + number));
    for number in 0..50 {
        let window = window(&heat, (0..2_000).map(|it| at(number, it / 20)));
        assert!(window.buckets.len() <= BUCKETS_MAX * 2);
        let inside = reads_within(&window, &at(number, 0), &at(number + 1, 0));
        assert_eq!(inside, 2_000, "window {number}");
        let behind = reads_within(&window, &at(number + 1, 0), &at(number + 9, 0));
        assert_eq!(behind, 0, "window {number}");
        let before = reads_within(&window, b"", &at(number, 0));
        assert!(before <= 200, "window {number}: {before}");
    }
}

#[test]
fn buckets_are_bounded_and_a_few_requests_are_not_divided() {
    let heat = Heat::new(Instant::now());
    let few = window(&heat, spread(0, 12, 1_000));
    assert_eq!(few.buckets.len(), 1);
    for number in 0..100 {
        let partitions = spread(number, 3_000, 40).map(move |mut key| {
            key.insert(20, b'a' + (number % 26) as u8);
            key
        });
        window(&heat, partitions);
        let buckets = starts(&heat).len();
        assert!(buckets <= BUCKETS_MAX, "{buckets}");
    }
    let idle = window(&heat, []);
    assert_eq!(idle.buckets, []);
}

#[test]
fn a_request_while_a_window_is_closed_counts_in_the_next_one() {
    let mut buckets = Buckets::new();
    let sampled = |load| Sampled {
        partition: b"tp",
        table_bytes: 1,
        load,
    };
    buckets.add(b"tp", 900, Activity::default(), None);
    let closed = buckets.close();
    buckets.add(b"tp", 7, Activity::default(), None);
    let (parts, next) = closed.divide(&[sampled(900)], 16);
    assert_eq!(parts.len(), 1);
    assert!(next.starts.len() > 1);
    buckets.replace(next);
    assert_eq!(buckets.loads.iter().map(|it| it.load).sum::<f64>(), 7.0);
}
