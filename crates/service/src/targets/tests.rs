//! Tests the buckets of many partitions.

use super::buckets::Buckets;
use super::*;

#[test]
fn hot_buckets_stay_at_the_bound() {
    const SECOND: u64 = 1_000_000_000;
    let (rates, one) = (Rates::entities(100), Cost::ONE);
    let mut buckets = Buckets::new(100);
    let mut hot = 0;
    for step in 0..10_000 {
        // Every 100 µs, charges a new partition, and the hot partition if it is admitted.
        let now = step * 100_000;
        buckets.take(1_000 + step, rates, now, one);
        if buckets.wait(7, rates, now, one).0 == 0 {
            buckets.take(7, rates, now, one);
            hot += 1;
        }
        assert!(buckets.len() <= 100);
    }
    assert!(
        (100..=201).contains(&hot),
        "the burst and the rate of one second each: {hot}"
    );
    // Buckets that are full are dropped as new ones come.
    for step in 0..100 {
        buckets.take(step, rates, 5 * SECOND, one);
    }
    assert!(buckets.len() <= 100);
}

#[test]
fn full_buckets_are_dropped_as_new_ones_come() {
    let (rates, one) = (Rates::entities(1_000), Cost::ONE);
    let mut buckets = Buckets::new(10_000);
    for step in 0..10_000 {
        // At this rate each bucket is full again after a millisecond.
        buckets.take(step, rates, step * 100_000, one);
    }
    assert!(buckets.len() < 100, "{}", buckets.len());
}
