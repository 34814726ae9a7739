//! The counts and latencies of a closed window.

use super::coarse_latency::CoarseLatency;
use super::latency::Latency;
use super::request::REQUEST_LOAD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// The requests of a range or partition in one window, with their rows and bytes. `u64` for exact counts, `f64` for
/// estimates from a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts<N = u64> {
    /// Requests that read.
    pub reads: N,
    /// Write requests, also those that changed no row because their condition failed.
    pub writes: N,
    /// Rows read, matching or not.
    pub rows_scanned: N,
    /// Rows changed.
    pub rows_written: N,
    /// Bytes of keys and stored rows written.
    pub bytes_in: N,
    /// Bytes of keys and stored rows read, matching or not.
    pub bytes_out: N,
    /// Requests refused because they exceeded a target; not counted as reads or writes.
    pub throttled: N,
}

/// The requests of a partition in one window. Estimated from a sample when the range has more than about 400 requests a
/// second.
pub type Activity = Counts<f64>;

impl<N> Counts<N> {
    /// Converts each number.
    pub(super) fn map<M>(&self, mut convert: impl FnMut(&N) -> M) -> Counts<M> {
        Counts {
            reads: convert(&self.reads),
            writes: convert(&self.writes),
            rows_scanned: convert(&self.rows_scanned),
            rows_written: convert(&self.rows_written),
            bytes_in: convert(&self.bytes_in),
            bytes_out: convert(&self.bytes_out),
            throttled: convert(&self.throttled),
        }
    }
}

impl Counts {
    /// The difference to earlier counts of the same range. Zero where the earlier ones are higher: then the range was
    /// away in between.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let than = |now: u64, before: u64| now.saturating_sub(before);
        Self {
            reads: than(self.reads, earlier.reads),
            writes: than(self.writes, earlier.writes),
            rows_scanned: than(self.rows_scanned, earlier.rows_scanned),
            rows_written: than(self.rows_written, earlier.rows_written),
            bytes_in: than(self.bytes_in, earlier.bytes_in),
            bytes_out: than(self.bytes_out, earlier.bytes_out),
            throttled: than(self.throttled, earlier.throttled),
        }
    }

    /// The number of served requests.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// The load in units: 16 per request, 1 per row.
    #[must_use]
    pub const fn load(&self) -> u64 {
        self.requests() * REQUEST_LOAD + self.rows_scanned + self.rows_written
    }

    /// [`Counts::load`] and 16 units for each refused request.
    #[must_use]
    pub const fn demand(&self) -> u64 {
        self.load() + self.throttled * REQUEST_LOAD
    }

    /// The largest of the counts.
    pub(super) fn largest(&self) -> u64 {
        let requests = self.reads.max(self.writes).max(self.throttled);
        let rows = self.rows_scanned.max(self.rows_written);
        requests.max(rows).max(self.bytes_in).max(self.bytes_out)
    }

    /// Whether the window has no requests.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

impl Activity {
    /// The estimates rounded to whole numbers.
    #[must_use]
    pub fn counts(&self) -> Counts {
        // A cast saturates.
        self.map(|count| count.round() as u64)
    }
}

impl<N: AddAssign> AddAssign for Counts<N> {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.rows_scanned += other.rows_scanned;
        self.rows_written += other.rows_written;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.throttled += other.throttled;
    }
}

/// The counts and latencies of one key bucket over one window. The counts of all buckets add up to those of the range;
/// their division is estimated from a sample when the range has more than about 400 requests a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBucket {
    /// The first key; empty at the start of the range.
    pub start: Bytes,
    /// The first key after the bucket; `None` at the end of the range.
    pub end: Option<Bytes>,
    /// Its requests.
    pub counts: Counts,
    /// The latencies of served requests.
    pub latency: CoarseLatency,
}

/// The counts and latencies of one range over one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its length, for rates.
    pub elapsed: Duration,
    /// Its requests.
    pub counts: Counts,
    /// The latencies of served requests.
    pub latency: Latency,
    /// The partitions with the most demand, in descending order; at most [`PARTITIONS_MAX`].
    pub partitions: Vec<PartitionWindow>,
    /// The key buckets with requests, in key order. Their counts add up to `counts`. Empty if no request was sampled.
    pub buckets: Vec<KeyBucket>,
}

/// The maximum number of partitions in a window.
pub const PARTITIONS_MAX: usize = 32;

/// The counts and latencies of one partition over one window. Estimated from a sample when its range has more than
/// about 400 requests a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionWindow {
    /// Its indivisible prefix.
    pub partition: Bytes,
    /// Its requests.
    pub counts: Counts,
    /// The latencies of served requests.
    pub latency: CoarseLatency,
}
