//! Latencies counted into fixed buckets, without a lock.
//!
//! Buckets are log-linear: eight to each power of two of microseconds, so that a percentile is at most 12.5 % above the
//! truth, from 1 µs to 67 s. A bucket holds what is above the bound of the one before and not above its own, which is
//! what Prometheus means by `le`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SUB_BITS: u32 = 3;
const SUBS: usize = 1 << SUB_BITS;
/// The last power of two that is told apart: 2^25 µs is 33.5 s.
const EXPONENT_MAX: u32 = 25;
const BUCKETS: usize = (EXPONENT_MAX as usize - SUB_BITS as usize + 2) * SUBS;

/// Latencies being counted.
#[derive(Debug)]
pub(crate) struct Histogram {
    sum_us: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            sum_us: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }
}

impl Histogram {
    pub(crate) fn record(&self, latency: Duration) {
        let us = micros_rounded_up(latency);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
        if let Some(bucket) = self.buckets.get(index(us)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds what was counted to `latencies`.
    pub(crate) fn add_to(&self, latencies: &mut Latencies) {
        latencies.sum_us += self.sum_us.load(Ordering::Relaxed);
        for (total, bucket) in latencies.buckets.iter_mut().zip(&self.buckets) {
            *total += bucket.load(Ordering::Relaxed);
        }
    }
}

/// Latencies that were counted.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    sum_us: u64,
    buckets: Vec<u64>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            sum_us: 0,
            buckets: vec![0; BUCKETS],
        }
    }
}

impl Latencies {
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub(crate) fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// The latency in microseconds that `per_mille` of all requests did not exceed; an upper bound, at most 12.5 % too
    /// high. None if nothing was counted.
    pub(crate) fn percentile_us(&self, per_mille: u64) -> Option<u64> {
        let count = self.count();
        let rank = (count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            seen += bucket;
            if seen >= rank {
                return Some(bound_us(index));
            }
        }
        None
    }

    /// For each power of two from 2^`from` to 2^`to` microseconds: the bound, and how many latencies were not above it.
    pub(crate) fn at_powers_of_two(&self, from: u32, to: u32) -> impl Iterator<Item = (u64, u64)> {
        (from..=to).map(|exponent| {
            let bound = 1_u64 << exponent;
            let below = self.buckets.iter().take(index(bound) + 1).sum();
            (bound, below)
        })
    }
}

fn micros_rounded_up(latency: Duration) -> u64 {
    u64::try_from(latency.as_nanos().div_ceil(1000))
        .unwrap_or(u64::MAX)
        .max(1)
}

/// The bucket of a latency of `us` ≥ 1 microseconds.
fn index(us: u64) -> usize {
    let below = us.saturating_sub(1);
    if below < SUBS as u64 {
        return below as usize;
    }
    let exponent = below.ilog2();
    let sub = (below >> (exponent - SUB_BITS)) as usize & (SUBS - 1);
    let index = (exponent - SUB_BITS + 1) as usize * SUBS + sub;
    index.min(BUCKETS - 1)
}

/// The largest latency, in microseconds, that falls into bucket `index` (the last one takes everything above it too).
fn bound_us(index: usize) -> u64 {
    let next = index as u64 + 1;
    if next < SUBS as u64 {
        return next;
    }
    let (row, sub) = (next / SUBS as u64, next % SUBS as u64);
    (SUBS as u64 + sub) << (row - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_lies_between_the_bounds_of_its_bucket() {
        let mut us = 1;
        while us < 1 << 26 {
            let index = index(us);
            assert!(us <= bound_us(index), "{us} in {index}");
            assert!(index == 0 || us > bound_us(index - 1), "{us} in {index}");
            us += 1 + us / 37;
        }
        assert_eq!(index(u64::MAX), BUCKETS - 1);
        assert_eq!(bound_us(BUCKETS - 1), 1 << 26);
    }

    #[test]
    fn percentiles_are_upper_bounds_within_an_eighth() {
        let histogram = Histogram::default();
        for us in 1..=1000 {
            histogram.record(Duration::from_micros(us));
        }
        let mut latencies = Latencies::default();
        histogram.add_to(&mut latencies);
        assert_eq!((latencies.count(), latencies.sum_us()), (1000, 500_500));
        for (per_mille, truth) in [(500, 500), (990, 990), (999, 999)] {
            let percentile = latencies.percentile_us(per_mille).unwrap();
            assert!(
                (truth..=truth + truth / 8).contains(&percentile),
                "{per_mille}: {percentile}"
            );
        }
        assert_eq!(Latencies::default().percentile_us(500), None);
    }

    #[test]
    fn a_latency_on_the_bound_counts_as_not_above_it() {
        let histogram = Histogram::default();
        for nanos in [0, 1, 64_000, 64_001, 128_000, 90_000_000_000] {
            histogram.record(Duration::from_nanos(nanos));
        }
        let mut latencies = Latencies::default();
        histogram.add_to(&mut latencies);
        let bounds: Vec<_> = latencies.at_powers_of_two(6, 8).collect();
        assert_eq!(bounds, [(64, 3), (128, 5), (256, 5)]);
    }
}
