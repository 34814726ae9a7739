//! Finds the partitions with the most load in bounded memory: the Space-Saving sketch of Metwally, Agrawal and El
//! Abbadi, with keys of any length and loads that decay.
//!
//! Invariants, for the load of each partition, halved with every window:
//! - the load of a counted partition is at least `count - error` and at most `count`;
//! - the load of an uncounted partition is at most `floor`;
//! - `floor` is at most the total load over [`COUNTERS`] if keys have at most 128 bytes on average. Longer keys allow
//!   fewer counters, so `floor` is greater; `count` and `error` are still bounds for each partition.

use crate::coarse_latency::{CoarseLatency, CoarsePercentiles};
use crate::window::{Activity, PartitionWindow};
use bytes::Bytes;
use partita_rt::hash::FastRandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of counted partitions. If keys have at most 128 bytes on average, every partition with more than
/// 1/224 of the load is among them.
pub(super) const COUNTERS: usize = 224;
/// The maximum bytes of their keys. Together with the counters this is less than 120 KiB.
const KEY_BYTES_MAX: usize = 28 << 10;

/// One of the partitions with the most load.
#[derive(Clone, Debug, PartialEq)]
pub struct HotPartition {
    /// Its indivisible prefix.
    pub partition: Bytes,
    /// Its requests in the last closed window.
    pub last: Activity,
    /// The latencies of that window.
    pub latency: CoarsePercentiles,
    /// An upper bound of its load in units (16 per request, 1 per row), halved with every window.
    pub load: u64,
    /// The maximum overestimate of `load`.
    pub error: u64,
    /// The share of the range's load, 0 to 1.
    pub share: f64,
}

/// A latency and the number of requests with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    pub(super) us: u64,
    pub(super) requests: u32,
}

/// The sketch.
#[derive(Debug, Default)]
pub(super) struct TopPartitions {
    /// The loads of `entries`, in a separate vector, because the search for the least load reads only loads.
    counts: Vec<u64>,
    entries: Vec<Entry>,
    index: HashMap<Arc<[u8]>, usize, FastRandomState>,
    key_bytes: usize,
    floor: u64,
    total: u64,
}

#[derive(Debug)]
struct Entry {
    key: Arc<[u8]>,
    error: u64,
    current: Window,
    last: Activity,
    last_latency: CoarsePercentiles,
}

/// The requests of a partition in the current window.
#[derive(Debug, Default)]
struct Window {
    activity: Activity,
    latency: CoarseLatency,
}

impl Window {
    fn add(&mut self, activity: Activity, took: Option<Took>) {
        self.activity += activity;
        if let Some(Took { us, requests }) = took {
            self.latency.add(us, requests);
        }
    }
}

impl Entry {
    /// Closes the window, and returns it unless it was idle.
    fn roll(&mut self) -> Option<PartitionWindow> {
        let Window { activity, latency } = std::mem::take(&mut self.current);
        self.last = activity;
        self.last_latency = latency.percentiles();
        let counts = activity.counts();
        (!counts.is_idle()).then(|| PartitionWindow {
            partition: Bytes::copy_from_slice(&self.key),
            counts,
            latency,
        })
    }
}

impl TopPartitions {
    /// Counts a load. A new partition takes time proportional to [`COUNTERS`].
    pub(super) fn add(&mut self, key: &[u8], load: u64, activity: Activity, took: Option<Took>) {
        self.total += load;
        if let Some(&slot) = self.index.get(key) {
            if let (Some(count), Some(entry)) =
                (self.counts.get_mut(slot), self.entries.get_mut(slot))
            {
                *count += load;
                entry.current.add(activity, took);
            }
            return;
        }
        while !self.entries.is_empty() && !self.has_room(key.len()) {
            self.evict_least();
        }
        let key: Arc<[u8]> = Arc::from(key);
        self.key_bytes += key.len();
        self.index.insert(Arc::clone(&key), self.entries.len());
        let mut current = Window::default();
        current.add(activity, took);
        // The partition may have been counted earlier, and evicted with a load of up to `floor`.
        self.counts.push(self.floor + load);
        self.entries.push(Entry {
            key,
            error: self.floor,
            current,
            last: Activity::default(),
            last_latency: CoarsePercentiles::default(),
        });
    }

    /// The `limit` partitions with the most load, in descending order.
    pub(super) fn top(&self, limit: usize) -> Vec<HotPartition> {
        let mut order: Vec<(u64, &Entry)> =
            self.counts.iter().copied().zip(&self.entries).collect();
        order.sort_unstable_by(|(a_load, a), (b_load, b)| {
            b_load.cmp(a_load).then_with(|| a.key.cmp(&b.key))
        });
        let hot = order.into_iter().take(limit);
        hot.map(|(load, entry)| HotPartition {
            partition: Bytes::copy_from_slice(&entry.key),
            load,
            error: entry.error,
            share: load as f64 / self.total.max(1) as f64,
            last: entry.last,
            latency: entry.last_latency,
        })
        .collect()
    }

    /// Ends a window: all loads are halved, so that the last window weighs as much as all earlier ones together.
    ///
    /// Returns the `limit` partitions with the most demand in that window, in descending order.
    pub(super) fn fade(&mut self, limit: usize) -> Vec<PartitionWindow> {
        let mut closed = Vec::new();
        self.total /= 2;
        self.floor /= 2;
        for (count, entry) in self.counts.iter_mut().zip(&mut self.entries) {
            *count /= 2;
            // Rounded up; otherwise `count - error` could exceed the true load.
            entry.error = entry.error.div_ceil(2);
            closed.extend(entry.roll());
        }
        for slot in (0..self.counts.len()).rev() {
            if self.counts.get(slot) == Some(&0) {
                self.remove(slot);
            }
        }
        closed.sort_unstable_by(|a, b| {
            let demand = b.counts.demand().cmp(&a.counts.demand());
            demand.then_with(|| a.partition.cmp(&b.partition))
        });
        closed.truncate(limit);
        closed
    }

    fn has_room(&self, key_bytes: usize) -> bool {
        self.entries.len() < COUNTERS && self.key_bytes + key_bytes <= KEY_BYTES_MAX
    }

    fn evict_least(&mut self) {
        let least = (0_usize..)
            .zip(&self.counts)
            .min_by_key(|(_, count)| **count);
        if let Some((slot, &count)) = least {
            self.floor = self.floor.max(count);
            self.remove(slot);
        }
    }

    fn remove(&mut self, slot: usize) {
        self.counts.swap_remove(slot);
        let gone = self.entries.swap_remove(slot);
        self.index.remove(&gone.key);
        self.key_bytes -= gone.key.len();
        if let Some(moved) = self.entries.get(slot) {
            self.index.insert(Arc::clone(&moved.key), slot);
        }
    }

    /// The allocated memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        use std::mem::size_of;
        // The allocation of hashbrown for its capacity: a power of two of buckets, at most 7/8 full, with a control
        // byte each.
        let buckets = (self.index.capacity() * 8 / 7).next_power_of_two();
        let index = buckets * (size_of::<(Arc<[u8]>, usize)>() + 1);
        let arcs = self.key_bytes + self.entries.len() * 2 * size_of::<usize>();
        self.counts.capacity() * size_of::<u64>()
            + self.entries.capacity() * size_of::<Entry>()
            + index
            + arcs
    }
}

#[cfg(test)]
mod tests;
