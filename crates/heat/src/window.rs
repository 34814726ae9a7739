//! A closed window.

use super::coarse_latency::CoarseLatency;
use super::latency::Latency;
use super::request::REQUEST_LOAD;
use bytes::Bytes;
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// What happened in a range during some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that read.
    pub reads: u64,
    /// Requests that changed something.
    pub writes: u64,
    /// Rows read, matching or not.
    pub rows_scanned: u64,
    /// Rows changed.
    pub rows_written: u64,
    /// Bytes of keys and stored rows written.
    pub bytes_in: u64,
    /// Bytes of keys and stored rows read, matching or not.
    pub bytes_out: u64,
    /// Requests refused because a target was exceeded; neither reads nor writes.
    pub throttled: u64,
}

impl Counts {
    /// Requests that were served.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// How much of the range's capacity they used, in units: 16 a request, 1 a row.
    #[must_use]
    pub const fn load(&self) -> u64 {
        self.requests() * REQUEST_LOAD + self.rows_scanned + self.rows_written
    }

    /// The load with refused requests included: [`Counts::load`], and 16 for each of those.
    #[must_use]
    pub const fn demand(&self) -> u64 {
        self.load() + self.throttled * REQUEST_LOAD
    }

    /// Whether nothing happened.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let Self {
            reads,
            writes,
            rows_scanned,
            rows_written,
            bytes_in,
            bytes_out,
            throttled,
        } = other;
        self.reads += reads;
        self.writes += writes;
        self.rows_scanned += rows_scanned;
        self.rows_written += rows_written;
        self.bytes_in += bytes_in;
        self.bytes_out += bytes_out;
        self.throttled += throttled;
    }
}

/// The counts and latencies of one range over one window. As JSON the latencies are their `p50_us` and `p99_us`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its length: what a rate divides by.
    pub elapsed: Duration,
    /// What was counted.
    pub counts: Counts,
    /// The latencies of the requests that were served.
    pub latency: Latency,
    /// The partitions with the most demand, most first; at most [`PARTITIONS_MAX`].
    pub partitions: Vec<PartitionWindow>,
}

/// The most partitions in a window.
pub const PARTITIONS_MAX: usize = 32;

/// The counts and latencies of one partition over one window. Estimated from a sample when its range has more than some 400
/// requests a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionWindow {
    /// Its indivisible prefix.
    pub partition: Bytes,
    /// What was counted.
    pub counts: Counts,
    /// The latencies of the requests that were served.
    pub latency: CoarseLatency,
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut window = serializer.serialize_struct("Window", 4)?;
        window.serialize_field("elapsed_ms", &(self.elapsed.as_millis() as u64))?;
        window.serialize_field("counts", &self.counts)?;
        window.serialize_field("p50_us", &self.latency.percentile_us(50))?;
        window.serialize_field("p99_us", &self.latency.percentile_us(99))?;
        window.end()
    }
}
