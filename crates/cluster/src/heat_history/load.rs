//! What a range, or several, did during some time, small enough to be kept for a day.

use partita_range::heat::{COARSE_BUCKETS, Counts, Window, coarse_bucket};

/// Counts and latencies that can be added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) counts: Counts,
    /// How many requests took how long, by [`coarse_bucket`].
    pub(super) latency: [u32; COARSE_BUCKETS],
}

impl Load {
    /// The load of a window; `None` when nothing happened.
    pub(super) fn of(window: &Window) -> Option<Box<Self>> {
        if window.counts.is_idle() {
            return None;
        }
        let mut load = Box::new(Self {
            counts: window.counts,
            latency: [0; COARSE_BUCKETS],
        });
        for bucket in window.latency.buckets() {
            if let Some(count) = load.latency.get_mut(coarse_bucket(bucket.from_us)) {
                *count = count.saturating_add(bucket.count);
            }
        }
        Some(load)
    }

    pub(super) fn add(&mut self, other: &Self) {
        let Self { counts, latency } = other;
        self.counts += *counts;
        for (sum, count) in self.latency.iter_mut().zip(latency) {
            *sum = sum.saturating_add(*count);
        }
    }

    /// What it weighs when loads are compared: requests, also those refused.
    pub(super) const fn weight(&self) -> u64 {
        self.counts.requests() + self.counts.throttled
    }
}
