//! Latencies of requests in log-linear buckets, recorded without a lock.
//!
//! A recording costs an index computation and two relaxed additions. Buckets are the same as in the heat of ranges: 1
//! µs wide below 32 µs, then 16 per power of two up to 67 s. So a percentile is at most 1/16 too high. Prometheus
//! bounds (`le`) are inclusive, but those of the histogram are exclusive. So a latency is rounded up to whole
//! microseconds and recorded as 1 less: 32 µs counts in the bucket that ends at 32 µs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use histogram::{AtomicHistogram, Histogram};
use partita_heat::{LATENCY_BUCKETS, LATENCY_US_MAX};

/// Records latencies.
#[derive(Debug)]
pub(crate) struct Recorder {
    sum_us: AtomicU64,
    counts: AtomicHistogram,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder {
            sum_us: AtomicU64::new(0),
            counts: AtomicHistogram::with_config(&LATENCY_BUCKETS),
        }
    }
}

impl Recorder {
    pub(crate) fn record(&self, latency: Duration) {
        let value = latency.saturating_sub(Duration::from_nanos(1)).as_micros();
        let value = u64::try_from(value).unwrap_or(u64::MAX - 1);
        self.sum_us.fetch_add(value + 1, Ordering::Relaxed);
        let counted = self.counts.increment(value.min(LATENCY_US_MAX));
        debug_assert!(counted.is_ok(), "{value} is not above the largest value");
    }

    /// Adds the recorded latencies to `latencies`.
    pub(crate) fn add_to(&self, latencies: &mut Latencies) {
        latencies.sum_us += self.sum_us.load(Ordering::Relaxed);
        let added = latencies.counts.checked_add_assign(&self.counts.load());
        added.expect("equal parameters, and fewer requests than 2^64");
    }
}

/// Recorded latencies.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    pub(crate) sum_us: u64,
    counts: Histogram,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            sum_us: 0,
            counts: Histogram::with_config(&LATENCY_BUCKETS),
        }
    }
}

impl Latencies {
    pub(crate) fn count(&self) -> u64 {
        self.counts.as_slice().iter().sum()
    }

    /// The latency in microseconds that `per_mille` of all requests did not exceed: an upper bound, at most 1/16 too
    /// high. `None` without requests.
    pub(crate) fn percentile_us(&self, per_mille: u32) -> Option<u64> {
        let quantile = f64::from(per_mille) / 1000.0;
        let bucket = self.counts.quantile_bucket(quantile).ok()??;
        Some(bucket.end() + 1)
    }

    /// For each power of two from 2^`from` to 2^`to` microseconds: the bound, and how many latencies were at most that.
    pub(crate) fn at_powers_of_two(&self, from: u32, to: u32) -> impl Iterator<Item = (u64, u64)> {
        (from..=to).map(|exponent| {
            let bound = 1_u64 << exponent;
            let within = self.counts.iter().take_while(|one| one.end() < bound);
            (bound, within.map(|bucket| bucket.count()).sum())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(recorder: &Recorder) -> Latencies {
        let mut latencies = Latencies::default();
        recorder.add_to(&mut latencies);
        latencies
    }

    #[test]
    fn percentiles_are_upper_bounds_within_a_sixteenth() {
        let recorder = Recorder::default();
        for us in 1..=1000 {
            recorder.record(Duration::from_micros(us));
        }
        let recorded = latencies(&recorder);
        assert_eq!((recorded.count(), recorded.sum_us), (1000, 500_500));
        for (per_mille, truth) in [(500, 500), (990, 990), (999, 999), (1000, 1000)] {
            let percentile = recorded.percentile_us(per_mille).unwrap();
            assert!(
                (truth..=truth + truth / 16).contains(&percentile),
                "{per_mille}: {percentile}"
            );
        }
        assert_eq!(Latencies::default().percentile_us(500), None);
    }

    #[test]
    fn a_latency_on_a_bucket_bound_counts_in_that_bucket() {
        let recorder = Recorder::default();
        for nanos in [0, 1, 64_000, 64_001, 128_000, 90_000_000_000] {
            recorder.record(Duration::from_nanos(nanos));
        }
        let recorded = latencies(&recorder);
        let bounds: Vec<_> = recorded.at_powers_of_two(6, 8).collect();
        assert_eq!(bounds, [(64, 3), (128, 5), (256, 5)]);
    }

    #[test]
    fn any_latency_can_be_recorded() {
        let recorder = Recorder::default();
        recorder.record(Duration::from_secs(90));
        recorder.record(Duration::MAX);
        let recorded = latencies(&recorder);
        assert_eq!(recorded.count(), 2);
        assert_eq!(recorded.percentile_us(1000), Some(LATENCY_US_MAX + 1));
    }
}
