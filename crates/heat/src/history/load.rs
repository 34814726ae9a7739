//! The load of ranges or partitions over some time, small enough to be kept for a day.

use crate::{CoarseLatency, Counts, PartitionWindow, Window};

/// Counts and latencies that can be added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) counts: Counts,
    /// How long the requests that were served took.
    pub(super) latency: CoarseLatency,
}

impl Load {
    /// The load of a range's window; `None` when nothing happened.
    pub(super) fn of(window: &Window) -> Option<Box<Self>> {
        if window.counts.is_idle() {
            return None;
        }
        let mut latency = CoarseLatency::new();
        for bucket in window.latency.buckets() {
            latency.add(bucket.from_us, bucket.count);
        }
        Some(Box::new(Self {
            counts: window.counts,
            latency,
        }))
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

    /// Its weight when loads are compared: requests, refused ones included.
    pub(super) const fn weight(&self) -> u64 {
        self.counts.requests() + self.counts.throttled
    }
}
