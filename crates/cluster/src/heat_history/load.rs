//! What a range, or several, did during some time, small enough to be kept for a day.

use partita_range::heat::{Counts, Window};

/// Buckets of latency: below 16 µs, then two to each doubling; the last has all from 8.4 s on.
pub(super) const LATENCY_BUCKETS: usize = 40;
/// 2^4 µs is where the second bucket begins.
const FIRST_DOUBLING: u32 = 4;

/// Counts and latencies that can be added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) counts: Counts,
    /// How many requests took how long.
    pub(super) latency: [u32; LATENCY_BUCKETS],
}

impl Load {
    /// The load of a window; `None` when nothing happened.
    pub(super) fn of(window: &Window) -> Option<Box<Self>> {
        if window.counts.is_idle() {
            return None;
        }
        let mut load = Box::new(Self {
            counts: window.counts,
            latency: [0; LATENCY_BUCKETS],
        });
        for bucket in window.latency.buckets() {
            if let Some(count) = load.latency.get_mut(bucket_of(bucket.from_us)) {
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

fn bucket_of(us: u64) -> usize {
    let Some(doubling) = us.max(1).ilog2().checked_sub(FIRST_DOUBLING) else {
        return 0;
    };
    let upper_half = us >> (doubling + FIRST_DOUBLING - 1) & 1;
    (1 + 2 * doubling as usize + upper_half as usize).min(LATENCY_BUCKETS - 1)
}

/// The least latency of a bucket, in microseconds.
fn bucket_start(index: usize) -> f64 {
    match index.checked_sub(1) {
        None => 0.0,
        Some(half) => {
            let doubling = (1_u64 << (half / 2) << FIRST_DOUBLING) as f64;
            doubling * if half % 2 == 0 { 1.0 } else { 1.5 }
        }
    }
}

/// The latency, in microseconds, that a share of the requests did not exceed: the middle of its bucket, so at most a quarter
/// off; `None` without requests.
pub(super) fn percentile_us(latency: &[f64; LATENCY_BUCKETS], share: f64) -> Option<f64> {
    let total: f64 = latency.iter().sum();
    let mut seen = 0.0;
    for (index, count) in latency.iter().enumerate() {
        seen += count;
        // The last comparison may miss by rounding; the last bucket with requests is the answer then.
        if *count > 0.0 && seen >= total * share - total * 1e-9 {
            return Some(f64::midpoint(bucket_start(index), bucket_start(index + 1)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_where_they_say() {
        for index in 1..LATENCY_BUCKETS {
            let start = bucket_start(index) as u64;
            assert_eq!(bucket_of(start), index);
            assert_eq!(bucket_of(start - 1), index - 1);
        }
        assert_eq!(bucket_start(2) as u64, 24);
        assert_eq!(bucket_start(LATENCY_BUCKETS - 1) as u64, 1 << 23);
        assert_eq!(bucket_of(u64::MAX), LATENCY_BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_the_middles_of_their_buckets() {
        let mut latency = [0.0; LATENCY_BUCKETS];
        assert_eq!(percentile_us(&latency, 0.99), None);
        latency[bucket_of(100)] = 98.5;
        latency[bucket_of(5_000)] = 1.5;
        assert_eq!(percentile_us(&latency, 0.5), Some(112.0));
        assert_eq!(percentile_us(&latency, 0.99), Some(5_120.0));
    }
}
