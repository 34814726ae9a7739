//! Latency histograms with few buckets, small enough for many partitions or a day of windows.

use super::latency::Latency;
use std::ops::AddAssign;

/// The number of buckets: one below 16 µs, then two per doubling; the last bucket includes all latencies of 8.4 s and
/// more.
pub(crate) const COARSE_BUCKETS: usize = 40;

/// The second bucket begins at 2^4 µs.
const FIRST_DOUBLING: u32 = 4;

/// The bucket of a latency in microseconds, below [`COARSE_BUCKETS`].
#[must_use]
pub(super) fn coarse_bucket(us: u64) -> usize {
    let Some(doubling) = us.max(1).ilog2().checked_sub(FIRST_DOUBLING) else {
        return 0;
    };
    let upper_half = us >> (doubling + FIRST_DOUBLING - 1) & 1;
    (1 + 2 * doubling as usize + upper_half as usize).min(COARSE_BUCKETS - 1)
}

/// The least latency of a bucket, in microseconds.
fn start(index: usize) -> f64 {
    match index.checked_sub(1) {
        None => 0.0,
        Some(half) => {
            let doubling = (1_u64 << (half / 2) << FIRST_DOUBLING) as f64;
            doubling * if half % 2 == 0 { 1.0 } else { 1.5 }
        }
    }
}

/// A percentile of the latencies in these buckets, in microseconds; `share` is 0.99 for the 99th percentile. Returns
/// the middle of the bucket that contains the percentile, with an error of at most 25 % between 16 µs and 8.4 s. `None`
/// without requests.
#[must_use]
pub(crate) fn coarse_percentile_us(
    buckets: impl Iterator<Item = f64> + Clone,
    share: f64,
) -> Option<f64> {
    let total: f64 = buckets.clone().sum();
    let mut seen = 0.0;
    for (index, count) in buckets.enumerate() {
        seen += count;
        // Allows for rounding, so that the last bucket with requests is found.
        if count > 0.0 && seen >= total * share - total * 1e-9 {
            return Some(f64::midpoint(start(index), start(index + 1)));
        }
    }
    None
}

/// Percentiles of a histogram in microseconds, with an error of at most 25 %; `None` without requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoarsePercentiles {
    /// The median.
    pub p50_us: Option<u64>,
    /// The 99th percentile.
    pub p99_us: Option<u64>,
}

/// The number of requests in each bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoarseLatency([u32; COARSE_BUCKETS]);

impl CoarseLatency {
    /// A histogram without requests.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; COARSE_BUCKETS])
    }

    /// Counts `requests` requests with a latency of `us` microseconds. A count that would overflow stays at its
    /// maximum.
    pub fn add(&mut self, us: u64, requests: u32) {
        self.add_to_bucket(coarse_bucket(us), requests);
    }

    /// Counts `requests` requests in a bucket. A bucket index of [`COARSE_BUCKETS`] or more is ignored.
    pub fn add_to_bucket(&mut self, bucket: usize, requests: u32) {
        if let Some(count) = self.0.get_mut(bucket) {
            *count = count.saturating_add(requests);
        }
    }

    /// The counts, in order of latency.
    #[must_use]
    pub const fn buckets(&self) -> &[u32; COARSE_BUCKETS] {
        &self.0
    }

    /// See [`coarse_percentile_us`].
    pub(super) fn percentile_us(&self, share: f64) -> Option<u64> {
        let counts = self.0.iter().map(|count| f64::from(*count));
        coarse_percentile_us(counts, share).map(|us| us as u64)
    }

    /// The percentiles that are shown.
    pub(super) fn percentiles(&self) -> CoarsePercentiles {
        CoarsePercentiles {
            p50_us: self.percentile_us(0.5),
            p99_us: self.percentile_us(0.99),
        }
    }
}

impl From<&Latency> for CoarseLatency {
    fn from(latency: &Latency) -> Self {
        let mut coarse = Self::new();
        for bucket in latency.buckets() {
            coarse.add(bucket.from_us, bucket.count);
        }
        coarse
    }
}

impl Default for CoarseLatency {
    fn default() -> Self {
        Self::new()
    }
}

impl AddAssign<&Self> for CoarseLatency {
    fn add_assign(&mut self, other: &Self) {
        for (bucket, requests) in other.0.iter().enumerate() {
            self.add_to_bucket(bucket, *requests);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_at_their_start() {
        for index in 1..COARSE_BUCKETS {
            let start = start(index) as u64;
            assert_eq!(coarse_bucket(start), index);
            assert_eq!(coarse_bucket(start - 1), index - 1);
        }
        assert_eq!(start(2) as u64, 24);
        assert_eq!(start(COARSE_BUCKETS - 1) as u64, 1 << 23);
        assert_eq!(coarse_bucket(u64::MAX), COARSE_BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_the_middles_of_their_buckets() {
        let mut counts = [0.0; COARSE_BUCKETS];
        assert_eq!(coarse_percentile_us(counts.into_iter(), 0.99), None);
        counts[coarse_bucket(100)] = 98.5;
        counts[coarse_bucket(5_000)] = 1.5;
        assert_eq!(coarse_percentile_us(counts.into_iter(), 0.5), Some(112.0));
        assert_eq!(
            coarse_percentile_us(counts.into_iter(), 0.99),
            Some(5_120.0)
        );
    }

    #[test]
    fn counts_are_summed_and_saturate() {
        let mut counts = CoarseLatency::new();
        assert_eq!(counts.percentile_us(0.5), None);
        counts.add(100, u32::MAX - 1);
        counts += &counts.clone();
        counts.add(5_000, 7);
        let bucket = |us| counts.buckets()[coarse_bucket(us)];
        assert_eq!((bucket(100), bucket(5_000)), (u32::MAX, 7));
        assert_eq!(counts.percentile_us(0.5), Some(112));
        counts.add_to_bucket(COARSE_BUCKETS, 1);
    }
}
