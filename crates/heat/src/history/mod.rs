//! The load of all keys over the last day, across splits and merges of ranges.
//!
//! Each window of a range is stored by the key buckets that the range had at that time, in *slots*: of 10 s for the
//! last hour, of 1 min for the five hours before, of 5 min for the rest of the day. Counts stay exact when slots are
//! merged. Latencies are histograms with two buckets per doubling, so they can be added too. Each slot also holds its
//! 32 hottest partitions.
//!
//! - [`HeatHistory::record`] adds windows that were closed together; [`until_next_window`] returns the time until the
//!   next windows end.
//! - [`HeatHistory::map_within`] returns a table of times and keys, [`HeatHistory::partitions`] a table of times and
//!   partitions.
//! - [`Archive`] stores the history in the object store: `load` at startup, `save` each minute.
//!
//! Memory: at most 885 slots of at most 128 key buckets and 32 partitions each. 64 busy ranges and 32 hot partitions
//! take 20 MB, 128 key buckets in every slot 34 MB, plus their keys; an idle range takes a few bytes per window. In the
//! object store, 64 busy ranges and 32 hot partitions take about 3.3 MB.
//!
//! The caller passes the wall time of `rt::Clock`, because a heat map shows wall time. While a clock that was set back
//! catches up, windows are added to the newest slot. If a slot is more than an hour ahead of the clock, all slots with
//! future times are dropped.

mod archive;
mod grid;
mod load;
mod map;
mod of_servers;
mod partitions;
mod segment;
mod slot;
mod tiers;

use crate::{Bounds, KeyBucket, Window};
use load::LoadSum;
use parking_lot::Mutex;
use slot::{CELLS_MAX, Cell, Keys, SPOTS_MAX, SlotLoad, Spot, Time};
use std::cmp::Reverse;
use std::time::{Duration, SystemTime};
use tiers::Tiers;

pub use archive::{Archive, SaveError};
pub use grid::Metric;
pub use map::{HeatMap, MapShape};
pub use of_servers::Segment;
pub use partitions::PartitionRow;

/// Checks the content of an object of the archive with this name.
///
/// # Errors
/// What is wrong with it.
pub fn verify_segment(name: &str, content: &[u8]) -> Result<(), String> {
    let name = segment::SegmentName::parse(name).ok_or("the name is not that of a segment")?;
    match segment::decode(name, content, &mut Keys::default()) {
        Ok(_) => Ok(()),
        Err(fault) => Err(fault.to_string()),
    }
}

/// The length of a window.
pub const WINDOW: Duration = Duration::from_secs(10);

/// A window of one range.
#[derive(Clone, Debug)]
pub struct RangeWindow<'w> {
    /// The key bounds of the range at that time.
    pub bounds: Bounds,
    /// The counts, latencies and hottest partitions.
    pub window: &'w Window,
}

/// A day of heat of all ranges.
#[derive(Debug)]
pub struct HeatHistory {
    tiers: Mutex<Tiers>,
}

impl HeatHistory {
    /// A history without load.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Tiers::default())
    }

    const fn of(tiers: Tiers) -> Self {
        Self {
            tiers: Mutex::new(tiers),
        }
    }

    /// Adds windows that were closed at `now`, to the slot that contains the middle of a full window.
    pub fn record(&self, now: SystemTime, ranges: &[RangeWindow<'_>]) {
        let at = time_of(now.checked_sub(WINDOW / 2).unwrap_or(now));
        let mut tiers = self.tiers.lock();
        let load = slot_load(ranges, &mut tiers.keys);
        let forgotten = tiers.record(at, load);
        drop(tiers);
        if forgotten > 0 {
            tracing::warn!(
                slots = forgotten,
                "the clock was set back; dropped heat history with future times"
            );
        }
    }

    /// The heat map of ranges that overlap `keys`: times across, keys down. If only a part of a range is in `keys`, the
    /// map includes the load of the whole range. Takes a few milliseconds for a day of 64 busy ranges.
    #[must_use]
    pub fn map_within(
        &self,
        from: SystemTime,
        to: SystemTime,
        shape: MapShape,
        keys: &Bounds,
    ) -> HeatMap {
        self.with(|tiers| map::draw(&[tiers], (from, to), shape, keys))
    }

    /// The partitions inside `keys` with the highest metric in that time, highest first; for a percentile, the
    /// partitions with the most requests. Each slot holds its 32 hottest partitions.
    #[must_use]
    pub fn partitions(
        &self,
        from: SystemTime,
        to: SystemTime,
        shape: MapShape,
        keys: &Bounds,
    ) -> Vec<PartitionRow> {
        self.with(|tiers| partitions::draw(&[tiers], (from, to), shape, keys))
    }

    /// The number of slots of all tiers, at most 885.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.with(|tiers| tiers.all().count())
    }

    fn with<T>(&self, read: impl FnOnce(&mut Tiers) -> T) -> T {
        read(&mut self.tiers.lock())
    }
}

impl Default for HeatHistory {
    fn default() -> Self {
        Self::new()
    }
}

/// The load of all ranges in one window, as the load of a slot. Adds the keys of the load to `keys`.
fn slot_load(ranges: &[RangeWindow<'_>], keys: &mut Keys) -> SlotLoad {
    let cells = cells(ranges, keys);
    let mut partitions: Vec<_> = ranges
        .iter()
        .flat_map(|range| &range.window.partitions)
        .collect();
    // Truncated before the keys are interned, so that keys of dropped partitions are never stored.
    partitions.sort_by_key(|window| Reverse(window.counts.demand()));
    partitions.truncate(SPOTS_MAX);
    let spots = partitions.into_iter().map(|window| Spot {
        partition: keys.partitions.intern(window.partition.clone()),
        load: LoadSum::of_partition(window),
    });
    let spots = spots.collect();
    SlotLoad { cells, spots }
}

/// The cells of ranges. A range with key buckets has an idle cell for all its keys, and a cell for each bucket with load.
/// The buckets of all ranges share [`CELLS_MAX`] cells.
fn cells(ranges: &[RangeWindow<'_>], keys: &mut Keys) -> Vec<Cell> {
    let divided = ranges.iter().filter(|range| has_buckets(range)).count();
    let free = CELLS_MAX.saturating_sub(ranges.len());
    let buckets_max = free.checked_div(divided).unwrap_or_default();
    let mut cells = Vec::new();
    for range in ranges {
        let extent = keys.extents.intern(range.bounds.clone());
        if buckets_max < 2 || !has_buckets(range) {
            let load = LoadSum::of(range.window);
            cells.push(Cell { extent, load });
            continue;
        }
        let buckets = range.window.buckets.iter().map(|bucket| Cell {
            extent: keys.extents.intern(within(bucket, &range.bounds)),
            load: Some(LoadSum::of_bucket(bucket)),
        });
        let mut buckets = buckets.collect();
        slot::join_cells(&mut buckets, buckets_max);
        cells.push(Cell { extent, load: None });
        cells.append(&mut buckets);
    }
    cells
}

const fn has_buckets(range: &RangeWindow<'_>) -> bool {
    !range.window.buckets.is_empty()
}

/// The keys of a bucket: its first key is empty at the start of the range, and its end absent at the end of the range.
fn within(bucket: &KeyBucket, range: &Bounds) -> Bounds {
    Bounds {
        start: bucket.start.clone().max(range.start.clone()),
        end: bucket.end.clone().or_else(|| range.end.clone()),
    }
}

/// The time until the current window ends. Windows end at multiples of ten seconds of the wall clock, so each has its
/// own slot even when it is closed late. More than 0, at most [`WINDOW`].
#[must_use]
pub fn until_next_window(now: SystemTime) -> Duration {
    let window_ms = WINDOW.as_millis();
    let left_ms = window_ms - since_1970(now).as_millis() % window_ms;
    Duration::from_millis(u64::try_from(left_ms).unwrap_or(u64::MAX))
}

/// Tens of seconds since 1970; 0 before.
fn time_of(time: SystemTime) -> Time {
    Time::try_from(since_1970(time).as_secs() / WINDOW.as_secs()).unwrap_or(Time::MAX / 2)
}

fn since_1970(time: SystemTime) -> Duration {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default()
}

#[cfg(test)]
mod tests;
