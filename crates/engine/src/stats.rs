//! Counts and metrics of an engine.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Batch, Health};

/// Counts of an engine since it was opened.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Whether reads and writes are served.
    pub health: Health,
    /// Batches that became durable.
    pub batches: u64,
    /// Rows of these batches.
    pub rows: u64,
    /// Bytes of these batches, as [`crate::Batch::bytes`] counts them.
    pub bytes: u64,
    /// Batches refused after they were queued.
    pub batches_refused: u64,
    /// Batches whose outcome is unknown.
    pub batches_unknown: u64,
    /// Batches in each commit group.
    pub group_batches: Distribution,
    /// Bytes of each commit group.
    pub group_bytes: Distribution,
    /// Time of writing one commit group with rows, mostly its write and sync of the WAL, in microseconds.
    pub sync_us: Distribution,
    /// Bytes of the WAL that a restart would have to read.
    pub log_bytes: u64,
    /// Bytes written to the storage; `None` for an engine in memory.
    pub written: Option<WrittenBytes>,
    /// Bytes of the files in the storage. `None` for an engine in memory, in a store that other processes write too, and
    /// while the files are not known: shortly after the start, and during a recovery.
    pub stored: Option<StoredBytes>,
    /// Cache hits of blocks and metadata.
    pub cache_hits: u64,
    /// Cache misses of blocks and metadata.
    pub cache_misses: u64,
    /// Bytes held by the cache.
    pub cache_bytes: u64,
    /// The cache of data files on a disk of this machine, if there is one.
    pub disk_cache: Option<DiskCacheStats>,
    /// Metrics of this kind of engine only, for the metrics page.
    pub metrics: Vec<EngineMetric>,
}

impl Stats {
    /// Bytes of the keys and values of the rows.
    pub fn row_bytes(&self) -> u64 {
        let overhead = self.rows.saturating_mul(Batch::OVERHEAD_BYTES as u64);
        self.bytes.saturating_sub(overhead)
    }

    /// How many bytes were written to the storage for each byte of a row; `None` without rows.
    pub fn write_amplification(&self) -> Option<f64> {
        let (written, rows) = (self.written?, self.row_bytes());
        (rows > 0).then(|| written.total() as f64 / rows as f64)
    }
}

/// The cache of data files on a disk of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCacheStats {
    /// Reads of a part of a file that the cache had.
    pub hits: u64,
    /// Reads of a part of a file that was fetched.
    pub misses: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

/// Bytes that were written to the storage since the engine was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenBytes {
    /// Groups of the WAL, with their headers and padding.
    pub log: u64,
    /// Files of level 0, which flushes wrote.
    pub flushes: u64,
    /// Files that compactions wrote.
    pub compactions: u64,
}

impl WrittenBytes {
    /// All bytes that were written.
    pub fn total(&self) -> u64 {
        self.log + self.flushes + self.compactions
    }
}

/// Bytes of the files in the storage, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredBytes {
    /// Data files that the newest manifest of an open range lists. A file that several ranges share counts once, as a
    /// whole.
    pub live: u64,
    /// All other data files: replaced files that wait for garbage collection, files that only snapshots read, files of
    /// removed databases, and results of running compactions.
    pub replaced: u64,
    /// Segments of the WAL, also empty ones.
    pub log: u64,
}

impl StoredBytes {
    /// All bytes of the storage for each byte of live data files; `None` without live files.
    pub fn amplification(&self) -> Option<f64> {
        let total = self.live + self.replaced + self.log;
        (self.live > 0).then(|| total as f64 / self.live as f64)
    }
}

/// A metric that only one kind of engine has.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineMetric {
    /// The engine's name for the metric, with dots.
    pub name: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// The description of the metric.
    pub help: String,
    /// Whether the metric is a counter, which only grows.
    pub counter: bool,
    /// Its value.
    pub value: f64,
}

/// A histogram of values: a bucket for each power of two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// The sum of the values.
    pub sum: u64,
    /// Bucket `i` counts the values up to `2^i` that are not in an earlier bucket.
    pub buckets: Vec<u64>,
}

impl Distribution {
    /// The largest value that counts into bucket `index`, except for the last bucket, which also counts all larger
    /// values.
    pub fn bound(index: usize) -> u64 {
        1_u64
            .checked_shl(u32::try_from(index).unwrap_or(u32::MAX))
            .unwrap_or(u64::MAX)
    }

    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum as f64 / self.count as f64
        }
    }
}

/// The number of buckets: one for each power of two up to 2^30, and the last one for larger values.
const BUCKETS: usize = 32;

/// A distribution with atomic counters, without a lock.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    count: AtomicU64,
    sum: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Histogram {
    pub(crate) fn record(&self, value: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        // The smallest power of two that is not below the value.
        let index = (u64::BITS - value.saturating_sub(1).leading_zeros()) as usize;
        if let Some(bucket) = self.buckets.get(index.min(BUCKETS - 1)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self) -> Distribution {
        Distribution {
            count: self.count.load(Ordering::Relaxed),
            sum: self.sum.load(Ordering::Relaxed),
            buckets: self
                .buckets
                .iter()
                .map(|bucket| bucket.load(Ordering::Relaxed))
                .collect(),
        }
    }
}

/// The counts of a commit loop.
#[derive(Debug, Default)]
pub(crate) struct CommitCounts {
    batches: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
    group_batches: Histogram,
    group_bytes: Histogram,
    pub(crate) sync_us: Histogram,
}

impl CommitCounts {
    pub(crate) fn group(&self, batches: usize, rows: usize, bytes: usize) {
        let (batches, rows, bytes) = (batches as u64, rows as u64, bytes as u64);
        self.batches.fetch_add(batches, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.group_batches.record(batches);
        self.group_bytes.record(bytes);
    }

    pub(crate) fn refused(&self, batches: usize) {
        self.refused.fetch_add(batches as u64, Ordering::Relaxed);
    }

    pub(crate) fn unknown(&self, batches: usize) {
        self.unknown.fetch_add(batches as u64, Ordering::Relaxed);
    }

    /// The counts as [`Stats`]; the engine sets the other fields.
    pub(crate) fn read(&self, health: Health) -> Stats {
        Stats {
            health,
            batches: self.batches.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            batches_refused: self.refused.load(Ordering::Relaxed),
            batches_unknown: self.unknown.load(Ordering::Relaxed),
            group_batches: self.group_batches.read(),
            group_bytes: self.group_bytes.read(),
            sync_us: self.sync_us.read(),
            log_bytes: 0,
            written: None,
            stored: None,
            cache_hits: 0,
            cache_misses: 0,
            cache_bytes: 0,
            disk_cache: None,
            metrics: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_into_the_first_bucket_that_reaches_it() {
        let histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 5, 1 << 30, u64::MAX] {
            histogram.record(value);
        }
        let read = histogram.read();
        assert_eq!(read.count, 8);
        assert_eq!(read.buckets[0], 2, "0 and 1");
        assert_eq!(read.buckets[1], 1, "2");
        assert_eq!(read.buckets[2], 2, "3 and 4");
        assert_eq!(read.buckets[3], 1, "5");
        assert_eq!(read.buckets[30], 1);
        assert_eq!(read.buckets[31], 1);
        assert_eq!(Distribution::bound(3), 8);
    }
}
