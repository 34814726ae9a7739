//! The load of a range by *key bucket*: contiguous parts of its keys with about equal load, so that a heat map shows
//! more than one line for a range.
//!
//! Sampled requests are counted in the bucket of their partition. When a window closes, buckets with much load are
//! divided at partitions of the window's load sample ([`divide`]). Beyond [`BUCKETS_MAX`] buckets, the neighbours with
//! the least recent load are joined. Under a steady load the buckets stay the same, so that the history can add them.
//!
//! The counts of the closed window are those of the new buckets: a divided bucket's counts are shared among its parts
//! as the sample says. So the map is as fine as its load in the first window, and shows where a table grows.

mod divide;
mod exact;
#[cfg(test)]
mod tests;

use crate::coarse_latency::CoarseLatency;
use crate::load_sample::Sampled;
use crate::top_partitions::Took;
use crate::window::Activity;
use bytes::Bytes;
use std::iter;

pub(crate) use exact::exact;

/// The maximum number of buckets of a range.
pub const BUCKETS_MAX: usize = 64;

/// The buckets of a range, which cover all its keys.
#[derive(Debug)]
pub(super) struct Buckets {
    /// The first key of each bucket, in order. The first one is empty: the start of the range.
    starts: Vec<Bytes>,
    /// The load of each bucket.
    loads: Vec<BucketLoad>,
}

/// The load of a bucket.
#[derive(Clone, Debug, Default)]
struct BucketLoad {
    activity: Activity,
    latency: CoarseLatency,
    /// Units of load in the current window.
    load: f64,
    /// Units of load of earlier windows, halved with every window.
    recent: f64,
}

/// A bucket of a closed window, as sampled.
#[derive(Debug)]
pub(super) struct SampledBucket {
    start: Bytes,
    end: Option<Bytes>,
    activity: Activity,
    /// The number of requests in each latency bucket.
    latency: Vec<f64>,
    load: f64,
}

impl Buckets {
    /// One bucket with all keys.
    pub(super) fn new() -> Self {
        Self {
            starts: vec![Bytes::new()],
            loads: vec![BucketLoad::default()],
        }
    }

    /// Counts the requests that a sampled request represents.
    pub(super) fn add(
        &mut self,
        partition: &[u8],
        load: u64,
        activity: Activity,
        took: Option<Took>,
    ) {
        let bucket = self.bucket_of(partition);
        if let Some(bucket) = self.loads.get_mut(bucket) {
            bucket.load += load as f64;
            bucket.activity += activity;
            if let Some(Took { us, requests }) = took {
                bucket.latency.add(us, requests);
            }
        }
    }

    fn bucket_of(&self, key: &[u8]) -> usize {
        let after = self.starts.partition_point(|start| &start[..] <= key);
        after.saturating_sub(1)
    }

    /// Returns the buckets with the load of the current window, and begins the next window with the same buckets.
    pub(super) fn close(&mut self) -> Self {
        let starts = self.starts.clone();
        let loads = self.loads.iter_mut().map(std::mem::take);
        Self {
            loads: loads.collect(),
            starts,
        }
    }

    /// Continues with other buckets. The load since [`Self::close`] is added to the bucket of its first key.
    pub(super) fn replace(&mut self, next: Self) {
        let since = std::mem::replace(self, next);
        for (start, since) in since.starts.iter().zip(since.loads) {
            let bucket = self.bucket_of(start);
            if let Some(bucket) = self.loads.get_mut(bucket) {
                bucket.load += since.load;
                bucket.activity += since.activity;
                bucket.latency += &since.latency;
            }
        }
    }

    /// The buckets with load of a closed window, and the buckets of the next window. `sampled` is the load of each
    /// partition in the sample of the window, in key order; `unit` is the load of one sample.
    pub(super) fn divide(self, sampled: &[Sampled<'_>], unit: u64) -> (Vec<SampledBucket>, Self) {
        let starts = divide::starts(&self.starts, sampled, unit);
        let (mut parts, mut loads) = (Vec::new(), Vec::with_capacity(starts.len()));
        let ends = self.starts.iter().skip(1).map(Some).chain(iter::once(None));
        for ((start, end), load) in self.starts.iter().zip(ends).zip(&self.loads) {
            let first = starts.partition_point(|cut| cut < start);
            let behind = end.map_or(starts.len(), |end| starts.partition_point(|cut| cut < end));
            let cuts = starts.get(first..behind).unwrap_or_default();
            for (part, share) in load.shares(cuts, end, sampled) {
                let recent = (load.recent / 2.0 + load.load) * share;
                loads.push(BucketLoad {
                    recent,
                    ..BucketLoad::default()
                });
                if part.load > 0.0 {
                    parts.push(part);
                }
            }
        }
        let mut next = Self { starts, loads };
        while next.starts.len() > BUCKETS_MAX {
            next.join_least();
        }
        (parts, next)
    }

    /// Joins the two neighbours with the least recent load.
    fn join_least(&mut self) {
        let pairs = self.loads.windows(2).enumerate();
        let recent = |pair: &[BucketLoad]| pair.iter().map(|load| load.recent).sum::<f64>();
        let least = pairs.min_by(|(_, a), (_, b)| recent(a).total_cmp(&recent(b)));
        let Some((at, _)) = least else {
            return;
        };
        self.starts.remove(at + 1);
        let right = self.loads.remove(at + 1);
        if let Some(left) = self.loads.get_mut(at) {
            left.recent += right.recent;
        }
    }
}

impl BucketLoad {
    /// The parts of this bucket between `cuts`, each with its share of the load. The first cut is the bucket's start.
    fn shares(
        &self,
        cuts: &[Bytes],
        end: Option<&Bytes>,
        sampled: &[Sampled<'_>],
    ) -> Vec<(SampledBucket, f64)> {
        let ends = cuts.iter().skip(1).map(Some).chain(iter::once(end));
        let parts: Vec<_> = cuts.iter().zip(ends).collect();
        let sums = parts
            .iter()
            .map(|(start, end)| divide::load(divide::within(sampled, start, *end)));
        let sums: Vec<u64> = sums.collect();
        let total: u64 = sums.iter().sum();
        let share = |at: usize, sum: u64| match total {
            // Without a sample, the load stays in one piece.
            0 => f64::from(u8::from(at == 0)),
            total => sum as f64 / total as f64,
        };
        let parts = parts.into_iter().zip(sums).enumerate();
        parts
            .map(|(at, ((start, end), sum))| {
                let share = share(at, sum);
                (self.part(start, end, share), share)
            })
            .collect()
    }

    fn part(&self, start: &Bytes, end: Option<&Bytes>, share: f64) -> SampledBucket {
        let counts = self.latency.buckets().iter();
        SampledBucket {
            start: start.clone(),
            end: end.cloned(),
            activity: self.activity.map(|count| count * share),
            latency: counts.map(|count| f64::from(*count) * share).collect(),
            load: self.load * share,
        }
    }
}
