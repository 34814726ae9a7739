//! The load of a range or partition over a period, small enough to be stored for a day.

use crate::{CoarseLatency, Counts, KeyBucket, PartitionWindow, Window};

/// Counts and latencies that can be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadSum {
    pub(super) counts: Counts,
    /// The latencies of served requests.
    pub(super) latency: CoarseLatency,
}

impl LoadSum {
    /// The load of a range's window; `None` for an idle window.
    pub(super) fn of(window: &Window) -> Option<Box<Self>> {
        if window.counts.is_idle() {
            return None;
        }
        Some(Box::new(Self {
            counts: window.counts,
            latency: CoarseLatency::from(&window.latency),
        }))
    }

    /// The load of a key bucket.
    pub(super) fn of_bucket(bucket: &KeyBucket) -> Box<Self> {
        Box::new(Self {
            counts: bucket.counts,
            latency: bucket.latency.clone(),
        })
    }

    /// The load of a partition's window.
    pub(super) fn of_partition(window: &PartitionWindow) -> Box<Self> {
        Box::new(Self {
            counts: window.counts,
            latency: window.latency.clone(),
        })
    }

    pub(super) fn add(&mut self, other: &Self) {
        let Self { counts, latency } = other;
        self.counts += *counts;
        self.latency += latency;
    }

    /// The weight for comparing loads: requests, including refused ones.
    pub(super) const fn weight(&self) -> u64 {
        self.counts.requests() + self.counts.throttled
    }
}
