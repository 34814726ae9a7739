//! Scales the sampled counts of buckets, so that they add up to the exact counts of their range.

use super::SampledBucket;
use crate::coarse_latency::CoarseLatency;
use crate::window::{Activity, Counts, KeyBucket};

/// The buckets of a window with these exact counts and latencies.
pub(crate) fn exact(
    sampled: Vec<SampledBucket>,
    counts: &Counts,
    latency: &CoarseLatency,
) -> Vec<KeyBucket> {
    let shares = |total: u64, of: &dyn Fn(&SampledBucket) -> f64| apportion(total, &sampled, of);
    let count = |total: u64, of: fn(&Activity) -> f64| shares(total, &|it| of(&it.activity));
    let reads = count(counts.reads, |it| it.reads);
    let writes = count(counts.writes, |it| it.writes);
    let rows_scanned = count(counts.rows_scanned, |it| it.rows_scanned);
    let rows_written = count(counts.rows_written, |it| it.rows_written);
    let bytes_in = count(counts.bytes_in, |it| it.bytes_in);
    let bytes_out = count(counts.bytes_out, |it| it.bytes_out);
    let throttled = count(counts.throttled, |it| it.throttled);
    let mut latencies = vec![CoarseLatency::new(); sampled.len()];
    for (at, total) in latency.buckets().iter().enumerate() {
        let of = |it: &SampledBucket| it.latency.get(at).copied().unwrap_or_default();
        let counts = shares(u64::from(*total), &of);
        for (latency, count) in latencies.iter_mut().zip(counts) {
            latency.add_to_bucket(at, u32::try_from(count).unwrap_or(u32::MAX));
        }
    }
    let of = |counts: &[u64], at: usize| counts.get(at).copied().unwrap_or_default();
    let buckets = sampled.into_iter().zip(latencies).enumerate();
    let buckets = buckets.map(|(at, (bucket, latency))| KeyBucket {
        start: bucket.start,
        end: bucket.end,
        counts: Counts {
            reads: of(&reads, at),
            writes: of(&writes, at),
            rows_scanned: of(&rows_scanned, at),
            rows_written: of(&rows_written, at),
            bytes_in: of(&bytes_in, at),
            bytes_out: of(&bytes_out, at),
            throttled: of(&throttled, at),
        },
        latency,
    });
    buckets.filter(|bucket| !bucket.counts.is_idle()).collect()
}

/// Divides a total in proportion to a quantity of the buckets; by their load if the sample has nothing of the quantity.
fn apportion(
    total: u64,
    buckets: &[SampledBucket],
    of: &dyn Fn(&SampledBucket) -> f64,
) -> Vec<u64> {
    if total == 0 {
        return vec![0; buckets.len()];
    }
    let mut weights: Vec<f64> = buckets.iter().map(of).collect();
    let mut sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        weights = buckets.iter().map(|bucket| bucket.load).collect();
        sum = weights.iter().sum();
    }
    let last = weights.iter().rposition(|weight| *weight > 0.0);
    // Rounds running sums, so that the parts add up to the total.
    let (mut seen, mut given) = (0.0, 0);
    let shares = weights.iter().enumerate().map(|(at, weight)| {
        seen += weight;
        let until = match last {
            Some(last) if at >= last => total,
            _ => ((total as f64 * (seen / sum)).round() as u64).min(total),
        };
        let share = until.saturating_sub(given);
        given = given.max(until);
        share
    });
    shares.collect()
}
