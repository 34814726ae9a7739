//! Histograms of request latencies, with the same buckets everywhere in Partita: [`LATENCY_BUCKETS`].
//!
//! Each microsecond below 32 µs has a bucket, and every doubling above has 16. So the width of a bucket is at most 1/16
//! of its value. The last bucket ends at 67 s and includes all longer latencies. Histograms of windows, ranges and
//! processes can be added.

use histogram::{AtomicHistogram32, Config, Histogram32};
use std::ops::AddAssign;
use std::time::Duration;

const DOUBLINGS: u8 = 26;

/// 16 buckets per doubling up to 2^26 µs (67 s); requests time out after 30 s.
pub const LATENCY_BUCKETS: Config = match Config::new(4, DOUBLINGS) {
    Ok(config) => config,
    Err(_) => panic!("the parameters of the histogram are invalid"),
};

/// The largest value of a bucket, in microseconds. Longer latencies are counted as this value.
pub const LATENCY_US_MAX: u64 = (1 << DOUBLINGS) - 1;

/// Latencies of one window, in microseconds.
#[derive(Clone, PartialEq, Eq)]
pub struct Latency(Histogram32);

impl std::fmt::Debug for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(self.buckets().map(|bucket| (bucket.from_us, bucket.count)))
            .finish()
    }
}

/// A bucket with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyBucket {
    /// The lower bound, in microseconds, inclusive.
    pub from_us: u64,
    /// The upper bound, in microseconds, exclusive.
    pub to_us: u64,
    /// The number of requests; more than 0.
    pub count: u32,
}

impl Latency {
    /// A histogram without requests.
    #[must_use]
    pub fn new() -> Self {
        Self(Histogram32::with_config(&LATENCY_BUCKETS))
    }

    /// The number of requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0
            .as_slice()
            .iter()
            .map(|&count| u64::from(count))
            .sum()
    }

    /// The buckets with requests, shortest latency first.
    pub fn buckets(&self) -> impl Iterator<Item = LatencyBucket> + '_ {
        let buckets = self.0.iter().zip(self.0.as_slice());
        buckets
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, &count)| LatencyBucket {
                from_us: bucket.start(),
                to_us: bucket.end() + 1,
                count,
            })
    }

    /// A percentile of the latencies, in microseconds: the middle of the bucket that contains it, with an error of at
    /// most 1/32. 0 without requests.
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
        let counts = self.0.as_mut_slice().iter_mut();
        for (sum, count) in counts.zip(other.0.as_slice()) {
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
pub(super) struct Recorder(AtomicHistogram32);

impl Recorder {
    pub(super) fn new() -> Self {
        Self(AtomicHistogram32::with_config(&LATENCY_BUCKETS))
    }

    /// Counts a latency, with one relaxed addition.
    pub(super) fn add(&self, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let counted = self.0.increment(us.min(LATENCY_US_MAX));
        debug_assert!(counted.is_ok(), "{us} is not above the largest value");
    }

    /// Moves the counts to `sum`.
    pub(super) fn drain(&self, sum: &mut Latency) {
        // A load is cheaper than a swap, and the counters of most threads are 0 in most windows.
        if self.0.load().as_slice().iter().any(|count| *count > 0) {
            *sum += &Latency(self.0.drain());
        }
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
    fn buckets_are_narrow_and_the_last_includes_longer_latencies() {
        let ends = latency_of(&[0, 31, 32, 33, 34, 1 << 20, LATENCY_US_MAX, u64::MAX / 1_000]);
        let buckets: Vec<_> = ends.buckets().collect();
        let bounds: Vec<_> = buckets.iter().map(|one| (one.from_us, one.to_us)).collect();
        let mebi = 1 << 20;
        let expected = [
            (0, 1),
            (31, 32),
            (32, 34),
            (34, 36),
            (mebi, mebi + mebi / 16),
            (LATENCY_US_MAX + 1 - (1 << 21), LATENCY_US_MAX + 1),
        ];
        assert_eq!(bounds, expected);
        assert_eq!((buckets[2].count, buckets[5].count), (2, 2));
    }

    #[test]
    fn an_empty_histogram_has_percentile_zero() {
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
