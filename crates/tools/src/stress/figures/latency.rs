//! Latencies, as histograms of bounded size.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Three digits: 0.1 %, in 200 KiB at most.
const DIGITS: u8 = 3;
/// The longest that is told apart from longer ones: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Quantiles of latencies, in microseconds; all 0 where nothing was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The mean.
    pub mean_us: f64,
    /// Half of them took no longer.
    pub p50_us: u64,
    /// Nine of ten.
    pub p90_us: u64,
    /// 99 of 100.
    pub p99_us: u64,
    /// 999 of 1,000.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// Latencies of a kind of operation.
#[derive(Debug, Clone)]
pub(super) struct Latencies(Histogram<u64>);

impl Latencies {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_US, DIGITS);
        Self(histogram.expect("the bounds are good: 1 and more than twice that, up to 5 digits"))
    }

    pub(super) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(micros(latency));
    }

    pub(super) fn add(&mut self, others: &Self) {
        self.0.add(&others.0).expect("both have the same bounds");
    }

    pub(super) fn quantiles(&self) -> Latency {
        let quantile = |quantile| self.0.value_at_quantile(quantile);
        if self.0.is_empty() {
            return Latency::default();
        }
        Latency {
            mean_us: (self.0.mean() * 10.0).round() / 10.0,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: self.0.max(),
        }
    }

    /// As a program would have met it that asks at even times, not waiting for its answers: for each latency longer than the median,
    /// those of the requests that would have been made meanwhile (HdrHistogram's correction by an expected interval).
    pub(super) fn corrected(&self) -> Latency {
        let interval = self.0.value_at_quantile(0.5);
        Self(self.0.clone_correct(interval)).quantiles()
    }
}

/// Latencies of a while, to two digits: there are many whiles. It grows with what is recorded, to 10 KiB or so.
#[derive(Debug, Clone)]
pub(super) struct WhileLatencies(Histogram<u32>);

impl WhileLatencies {
    pub(super) fn new() -> Self {
        Self(Histogram::new(2).expect("two digits are allowed"))
    }

    pub(super) fn record(&mut self, latency: Duration) {
        let grown = self.0.record(micros(latency).min(LONGEST_US));
        grown.expect("it grows by itself");
    }

    pub(super) fn add(&mut self, others: &Self) {
        self.0.add(&others.0).expect("it grows by itself");
    }

    /// The latency that so many, of 1, did not exceed; none without any.
    pub(super) fn quantile_us(&self, quantile: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(quantile))
    }
}

fn micros(latency: Duration) -> u64 {
    u64::try_from(latency.as_micros())
        .unwrap_or(u64::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ms: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new();
        for ms in ms {
            latencies.record(Duration::from_millis(ms));
        }
        latencies
    }

    fn near(found: u64, ms: u64) -> bool {
        found.abs_diff(ms * 1_000) <= ms
    }

    #[test]
    fn quantiles_of_known_latencies() {
        let found = of(1..=1_000).quantiles();
        assert!(
            near(found.p50_us, 500) && near(found.p90_us, 900) && near(found.p99_us, 990),
            "{found:?}"
        );
        assert!(
            near(found.p999_us, 999) && near(found.max_us, 1_000),
            "{found:?}"
        );
        assert!((500_000.0..502_000.0).contains(&found.mean_us), "{found:?}");
        assert_eq!(Latencies::new().quantiles(), Latency::default());
        assert_eq!(Latencies::new().corrected(), Latency::default());
        // Longer than all that is told apart.
        assert!(of([100_000_000]).quantiles().max_us <= 2 * LONGEST_US);
    }

    #[test]
    fn a_stall_counts_for_all_who_would_have_waited() {
        // 99 requests of 10 ms, and one that took a second: a hundred others would have come meanwhile.
        let latencies = of(std::iter::repeat_n(10, 99).chain([1_000]));
        assert!(near(latencies.quantiles().p90_us, 10));
        let corrected = latencies.corrected();
        assert!(near(corrected.p50_us, 10), "{corrected:?}");
        // Of 198, the longest tenth is from 810 ms on.
        assert!(
            (780_000..830_000).contains(&corrected.p90_us),
            "{corrected:?}"
        );
    }
}
