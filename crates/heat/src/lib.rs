//! The load of a range: request counters, hottest partitions, split advice, and the history of all ranges.
//!
//! [`Heat::record`] takes tens of nanoseconds: relaxed additions in a shard of this thread. The partition is recorded
//! under a lock, which costs more, so only a sample of the requests is recorded: the first 4,096 requests of a window,
//! then one in 4, later one in 16 and one in 64; requests with many rows more often. [`Heat::roll`] closes a window,
//! every 10 s.
//!
//! Results:
//! - [`Window`]: counts and latencies of the closed window, of its hottest partitions, and of its key buckets. Each
//!   request is in exactly one window.
//! - [`Heat::hot_partitions`]: the partitions with the most load, with error bounds.
//! - [`Heat::split_point`]: the key at which a split would balance the observed load, if any.
//! - [`Heat::growth`]: the growth pattern of each table: at one end, or spread over its keys.
//!
//! Memory of each range: counters 14 KiB; sketch at most 120 KiB; samples at most 224 KiB, of which 192 KiB are keys;
//! growth at most nine keys for each of 16 tables; key buckets at most 64 keys and 16 KiB. A range without requests holds only the counters.
//!
//! This crate does not read a clock and does not start tasks; the caller passes the time to `roll`.

mod bounds;
mod buckets;
mod coarse_latency;
mod counters;
mod growth;
pub mod history;
mod latency;
mod load_sample;
mod request;
mod split_advice;
mod top_partitions;
mod window;

use buckets::Buckets;
use counters::Counters;
use growth::Growth;
use load_sample::{ClosedSample, LoadSample};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use top_partitions::{Took, TopPartitions};

pub use bounds::Bounds;
pub use buckets::BUCKETS_MAX;
pub(crate) use coarse_latency::{COARSE_BUCKETS, coarse_percentile_us};
pub use coarse_latency::{CoarseLatency, CoarsePercentiles};
pub use growth::{Pattern, TableGrowth};
pub use latency::{LATENCY_BUCKETS, LATENCY_US_MAX, Latency, LatencyBucket};
pub use request::{Access, Request};
pub use split_advice::SplitAdvice;
pub use top_partitions::HotPartition;
pub use window::{Activity, Counts, KeyBucket, PARTITIONS_MAX, PartitionWindow, Window};

/// How the sample is thinned, as (sampled requests in a window, shift): from that number of requests on, the sample
/// takes one in 2^shift units of load. A request without rows has 2^4 units.
const THINNING: [(u32, u32); 3] = [(4_096, 6), (8_192, 8), (16_384, 10)];

/// The heat of one range.
#[derive(Debug)]
pub struct Heat {
    /// When it began, on the monotonic clock.
    began: Instant,
    counters: Counters,
    /// The counts of all closed windows.
    closed: Mutex<Counts>,
    /// The profile samples one in 2^shift units of load.
    shift: AtomicU32,
    profile: Mutex<Profile>,
}

/// The load by partition, from a sample of requests.
#[derive(Debug)]
struct Profile {
    window_began: Instant,
    /// Requests sampled in this window.
    notes: u32,
    top: TopPartitions,
    sample: LoadSample,
    growth: Growth,
    buckets: Buckets,
}

/// What a profile knows about a closed window.
struct ClosedProfile {
    began: Instant,
    partitions: Vec<PartitionWindow>,
    sample: ClosedSample,
    buckets: Buckets,
}

impl Heat {
    /// An empty heat; the first window begins at `now`, on the monotonic clock.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            began: now,
            counters: Counters::new(),
            closed: Mutex::default(),
            shift: AtomicU32::new(0),
            profile: Mutex::new(Profile {
                window_began: now,
                notes: 0,
                top: TopPartitions::default(),
                sample: LoadSample::new(),
                growth: Growth::default(),
                buckets: Buckets::new(),
            }),
        }
    }

    /// Counts a finished request.
    pub fn record(&self, request: &Request<'_>) {
        let shard = self.counters.shard();
        shard.add(request);
        let shift = self.shift.load(Ordering::Relaxed);
        let rest = (1_u64 << shift) - 1;
        // Random, not every n-th request: if clients send requests in a fixed order, some would always be sampled and
        // some never.
        let chance = if shift == 0 {
            0
        } else {
            counters::roll_dice() & rest
        };
        let load = (request.load() + chance) & !rest;
        if load > 0 {
            self.note(request, load);
        }
    }

    /// Adds a request that represents `load` units to the profile.
    #[cold]
    fn note(&self, request: &Request<'_>, load: u64) {
        let mut profile = self.profile.lock();
        profile.note(request, load);
        let notes = profile.notes;
        if let Some((_, shift)) = THINNING.iter().find(|(from, _)| *from == notes) {
            self.shift.store(*shift, Ordering::Relaxed);
        }
    }

    /// Closes the window at `now`, on the monotonic clock, and begins the next. A concurrent request is counted in
    /// exactly one of them.
    pub fn roll(&self, now: Instant) -> Window {
        let closed = {
            let mut profile = self.profile.lock();
            self.shift.store(0, Ordering::Relaxed);
            profile.roll(now)
        };
        let (counts, latency) = {
            let mut closed = self.closed.lock();
            let drained = self.counters.drain();
            *closed += drained.0;
            drained
        };
        // Without the lock, so that requests do not wait for the sorting.
        let sampled = closed.sample.by_partition();
        let (sampled, next) = closed.buckets.divide(&sampled, closed.sample.unit());
        self.profile.lock().buckets.replace(next);
        Window {
            elapsed: now.saturating_duration_since(closed.began),
            buckets: buckets::exact(sampled, &counts, &CoarseLatency::from(&latency)),
            counts,
            latency,
            partitions: closed.partitions,
        }
    }

    /// When it began, on the monotonic clock.
    #[must_use]
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// The counts of all windows, the current one included. They never fall, so the difference of two calls is the load
    /// between them.
    #[must_use]
    pub fn total(&self) -> Counts {
        let closed = self.closed.lock();
        let mut total = self.counters.counts();
        total += *closed;
        total
    }

    /// The `limit` partitions with the most recent load, in descending order.
    #[must_use]
    pub fn hot_partitions(&self, limit: usize) -> Vec<HotPartition> {
        self.profile.lock().top.top(limit)
    }

    /// The key at which a split would balance the load of the last two windows, and the future load of growing tables.
    /// Sorts a few thousand keys, in less than a millisecond.
    #[must_use]
    pub fn split_point(&self) -> SplitAdvice {
        // A copy, so that requests do not wait for the sorting.
        let (sample, growing) = {
            let profile = self.profile.lock();
            (profile.sample.clone(), profile.growth.growing())
        };
        split_advice::advise(&sample.by_partition(), sample.count(), &growing)
    }

    /// The growth of each table with at least about 13 inserts a second in this range, in key order.
    #[must_use]
    pub fn growth(&self) -> Vec<TableGrowth> {
        self.profile.lock().growth.tables()
    }
}

impl Profile {
    fn note(&mut self, request: &Request<'_>, load: u64) {
        self.notes = self.notes.saturating_add(1);
        let requests = load as f64 / request.load() as f64;
        let activity = activity(request, requests);
        let latency = latency(request, requests);
        self.top.add(request.partition, load, activity, latency);
        self.sample
            .add(request.partition, request.table_bytes, load);
        self.buckets.add(request.partition, load, activity, latency);
        if request.access == Access::Insert {
            self.growth.insert(request.table(), request.partition);
        }
    }

    /// Begins a window, and returns the previous one.
    fn roll(&mut self, now: Instant) -> ClosedProfile {
        self.notes = 0;
        self.growth.roll();
        ClosedProfile {
            began: std::mem::replace(&mut self.window_began, now),
            partitions: self.top.fade(PARTITIONS_MAX),
            sample: self.sample.roll(),
            buckets: self.buckets.close(),
        }
    }
}

/// The estimated counts of all requests that this sampled request represents; their number is `requests`.
fn activity(request: &Request<'_>, requests: f64) -> Activity {
    let rows = requests * f64::from(request.rows);
    let mut activity = Activity {
        bytes_in: requests * request.bytes_in as f64,
        bytes_out: requests * request.bytes_out as f64,
        ..Activity::default()
    };
    match request.access {
        Access::Read => (activity.reads, activity.rows_scanned) = (requests, rows),
        Access::Write | Access::Insert => {
            (activity.writes, activity.rows_written) = (requests, rows);
        }
        Access::Throttled => {
            activity = Activity {
                throttled: requests,
                ..Activity::default()
            }
        }
    }
    activity
}

/// The latency of this sampled request, with the number of requests that it represents; `None` for a refused request.
fn latency(request: &Request<'_>, requests: f64) -> Option<Took> {
    (request.access != Access::Throttled).then(|| Took {
        us: u64::try_from(request.latency.as_micros()).unwrap_or(u64::MAX),
        // At least one, because a page can represent less than one request. The cast saturates.
        requests: requests.round().max(1.0) as u32,
    })
}

#[cfg(test)]
mod tests;
