//! Latencies of requests: a fixed log-linear histogram.
//!
//! Values below 16 µs have a bucket each; above, every doubling has 16 buckets, so a bucket is at most 1/16 of its value
//! wide. The last one ends at 67 s and includes all longer latencies.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Buckets per doubling, as a power of two.
const FINENESS: u32 = 4;
const LINEAR: u64 = 1 << FINENESS;
/// The last doubling ends at 2^26 µs, 67 s: requests time out after 30 s.
const DOUBLINGS: usize = 22;
/// All buckets.
const BUCKETS: usize = (1 << FINENESS) * (DOUBLINGS + 1);

/// Latencies of one window, in microseconds.
#[derive(Clone, PartialEq, Eq)]
pub struct Latency {
    buckets: Box<[u32; BUCKETS]>,
}

impl std::fmt::Debug for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(self.buckets().map(|bucket| (bucket.from_us, bucket.count)))
            .finish()
    }
}

/// A bucket: latencies that differ by at most 1/16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyBucket {
    /// The start of the bucket, in microseconds.
    pub from_us: u64,
    /// The end of the bucket, exclusive, in microseconds.
    pub to_us: u64,
    /// How many there are; more than 0.
    pub count: u32,
}

impl Latency {
    /// Without requests.
    #[must_use]
    pub fn new() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
        }
    }

    /// How many requests were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|&count| u64::from(count)).sum()
    }

    /// The non-empty buckets, from short to long latencies.
    pub fn buckets(&self) -> impl Iterator<Item = LatencyBucket> + '_ {
        let counted = self.buckets.iter().enumerate();
        counted
            .filter(|(_, count)| **count > 0)
            .map(|(index, &count)| LatencyBucket {
                from_us: bucket_start(index),
                to_us: bucket_start(index + 1),
                count,
            })
    }

    /// The latency, in microseconds, that `percent` of the requests did not exceed: the middle of its bucket, so at most
    /// 1/32 off. 0 when there was no request.
    #[must_use]
    pub fn percentile_us(&self, percent: u64) -> u64 {
        let wanted = (self.count() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += u64::from(bucket.count);
            if seen >= wanted {
                return u64::midpoint(bucket.from_us, bucket.to_us - 1);
            }
        }
        0
    }
}

impl AddAssign<&Self> for Latency {
    fn add_assign(&mut self, other: &Self) {
        for (sum, count) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *sum = sum.saturating_add(*count);
        }
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

/// The latencies of the current window, of one shard.
#[derive(Debug)]
pub(super) struct Recorder {
    buckets: [AtomicU32; BUCKETS],
}

impl Recorder {
    pub(super) const fn new() -> Self {
        Self {
            buckets: [const { AtomicU32::new(0) }; BUCKETS],
        }
    }

    pub(super) fn add(&self, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get(bucket_of(us)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Moves the counts to `sum`.
    pub(super) fn drain(&self, sum: &mut Latency) {
        for (bucket, sum) in self.buckets.iter().zip(sum.buckets.iter_mut()) {
            // Most are zero, and reading a zero is cheaper than swapping it; what is counted in between is in the next window.
            if bucket.load(Ordering::Relaxed) > 0 {
                *sum = sum.saturating_add(bucket.swap(0, Ordering::Relaxed));
            }
        }
    }
}

fn bucket_of(us: u64) -> usize {
    if us < LINEAR {
        return us as usize;
    }
    let doubling = us.ilog2() - FINENESS;
    let within = (us >> doubling) - LINEAR;
    let index = ((doubling as usize + 1) << FINENESS) + within as usize;
    index.min(BUCKETS - 1)
}

fn bucket_start(index: usize) -> u64 {
    let (row, within) = (index >> FINENESS, index as u64 % LINEAR);
    match row.checked_sub(1) {
        None => within,
        Some(doubling) => (LINEAR + within) << doubling,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn latency_of(us: &[u64]) -> Latency {
        let recorder = Recorder::new();
        for &us in us {
            recorder.add(Duration::from_micros(us));
        }
        let mut latency = Latency::new();
        recorder.drain(&mut latency);
        latency
    }

    #[test]
    fn buckets_follow_each_other_and_hold_their_starts() {
        for index in 0..BUCKETS {
            assert_eq!(bucket_of(bucket_start(index)), index);
            assert_eq!(bucket_of(bucket_start(index + 1) - 1), index);
        }
        assert_eq!(bucket_start(BUCKETS), 1 << 26);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn nothing_counted_has_no_latency() {
        assert_eq!(latency_of(&[]).percentile_us(99), 0);
        assert_eq!(latency_of(&[]).count(), 0);
    }

    proptest! {
        #[test]
        fn percentiles_are_within_a_32nd(mut us in prop::collection::vec(0_u64..60_000_000, 1..300), percent in 1_u64..=100) {
            let latency = latency_of(&us);
            prop_assert_eq!(latency.count(), us.len() as u64);
            us.sort_unstable();
            let rank = (us.len() as u64 * percent).div_ceil(100);
            let exact = us[rank as usize - 1];
            prop_assert!(latency.percentile_us(percent).abs_diff(exact) <= exact / 32 + 1);
        }
    }
}
