//! HDR histograms of latencies, with bounded memory. A merged histogram is the same as one that recorded all latencies.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Significant digits of [`LatencyHistogram`]: an error of at most 0.1 %, and at most 200 KiB of memory.
const DIGITS: u8 = 3;
/// The longest latency that histograms distinguish, in microseconds: one hour. Longer ones count as about an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Mean, quantiles and maximum of latencies, in microseconds. All are 0 if no latency was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// The mean.
    pub mean_us: f64,
    /// The median.
    pub p50_us: u64,
    /// The 90th percentile.
    pub p90_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
    /// The 99.9th percentile.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// A histogram of latencies with three significant digits. All its memory is allocated at creation, so recording never
/// allocates.
#[derive(Debug, Clone)]
pub struct LatencyHistogram(Histogram<u64>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_US, DIGITS);
        Self(
            histogram.expect(
                "the maximum is at least twice the minimum, and there are at most 5 digits",
            ),
        )
    }
}

impl LatencyHistogram {
    /// Records one latency.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(micros(latency));
    }

    /// Records a latency in milliseconds, as the admin API reports it. A negative value or NaN counts as 0.
    pub fn record_ms(&mut self, ms: f64) {
        self.record(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default());
    }

    /// Adds the latencies of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.0
            .add(&other.0)
            .expect("both histograms have the same bounds");
    }

    /// The number of recorded latencies.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The quantile (0 to 1) of the latencies, in milliseconds; 0 if none was recorded.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e3
    }

    /// The mean, the usual quantiles and the maximum.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let quantile = |quantile| self.0.value_at_quantile(quantile);
        if self.0.is_empty() {
            return LatencySummary::default();
        }
        LatencySummary {
            mean_us: (self.0.mean() * 10.0).round() / 10.0,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: self.0.max(),
        }
    }

    /// The summary corrected for coordinated omission. A worker that waits for a slow answer sends nothing in that
    /// time, so its own latencies hide the delay. The correction adds the requests that would have been sent meanwhile,
    /// at intervals of the median latency (HdrHistogram's correction by an expected interval).
    #[must_use]
    pub fn corrected(&self) -> LatencySummary {
        let interval = self.0.value_at_quantile(0.5);
        Self(self.0.clone_correct(interval)).summary()
    }
}

/// Latencies of one time window. A run has many windows, so this histogram has two significant digits only, and grows
/// with its longest latency, up to about 13 KiB.
#[derive(Debug, Clone)]
pub struct WindowHistogram(Histogram<u32>);

impl Default for WindowHistogram {
    fn default() -> Self {
        Self(Histogram::new(2).expect("histograms may have two digits"))
    }
}

impl WindowHistogram {
    /// Records one latency.
    pub fn record(&mut self, latency: Duration) {
        let recorded = self.0.record(micros(latency).min(LONGEST_US));
        recorded.expect("the histogram resizes itself");
    }

    /// Adds the latencies of another window.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("the histogram resizes itself");
    }

    /// The quantile (0 to 1) of the latencies, in microseconds; `None` if none was recorded.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(quantile))
    }
}

#[inline]
fn micros(latency: Duration) -> u64 {
    u64::try_from(latency.as_micros())
        .unwrap_or(u64::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ms: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut latencies = LatencyHistogram::default();
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
        let found = of(1..=1_000).summary();
        assert!(
            near(found.p50_us, 500) && near(found.p90_us, 900) && near(found.p99_us, 990),
            "{found:?}"
        );
        assert!(
            near(found.p999_us, 999) && near(found.max_us, 1_000),
            "{found:?}"
        );
        assert!((500_000.0..502_000.0).contains(&found.mean_us), "{found:?}");
        let none = LatencyHistogram::default();
        assert_eq!(none.summary(), LatencySummary::default());
        assert_eq!(none.corrected(), LatencySummary::default());
        assert_eq!(none.quantile_ms(0.99), 0.0);
        // 100,000 s is longer than the maximum of the histogram.
        assert!(of([100_000_000]).summary().max_us <= 2 * LONGEST_US);
    }

    #[test]
    fn merged_histograms_keep_all_latencies() {
        let mut merged = of((1..=1_000).step_by(2));
        merged.merge(&of((2..=1_000).step_by(2)));
        assert_eq!(merged.summary(), of(1..=1_000).summary());
        assert_eq!(merged.count(), 1_000);
    }

    #[test]
    fn milliseconds_are_recorded_and_read() {
        let mut latencies = LatencyHistogram::default();
        for ms in [0.5, 33.0, f64::NAN, -1.0] {
            latencies.record_ms(ms);
        }
        assert_eq!(latencies.count(), 4);
        assert!((latencies.quantile_ms(1.0) - 33.0).abs() < 0.05);
    }

    #[test]
    fn the_correction_adds_requests_delayed_by_a_stall() {
        // 99 requests of 10 ms, and one of 1 s. Clients that do not wait would have sent about a hundred further
        // requests in that second.
        let latencies = of(std::iter::repeat_n(10, 99).chain([1_000]));
        assert!(near(latencies.summary().p90_us, 10));
        let corrected = latencies.corrected();
        assert!(near(corrected.p50_us, 10), "{corrected:?}");
        // 198 latencies after the correction; the longest tenth begins at 810 ms.
        assert!(
            (780_000..830_000).contains(&corrected.p90_us),
            "{corrected:?}"
        );
    }
}
