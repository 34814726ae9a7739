//! A day of heat: which keys took how much load, when, though ranges split and merge meanwhile.
//!
//! Each window of a range is kept with the keys that the range had then. The last hour has 10 s windows, the hours up to the
//! sixth 1 min, up to a day 5 min: sums stay exact, latencies are kept as counts by half doublings and so add up too. Beside it
//! each slot has its 32 hottest partitions.
//!
//! - [`HeatHistory::record`] adds the windows that were closed together; [`until_next_window`] says when the next ones end.
//! - [`HeatHistory::map`] returns a grid of times and keys, [`HeatHistory::partitions`] one of times and partitions.
//! - [`Archive`] keeps it in the object store: `load` at the start, `save` each minute.
//!
//! Bounds: 885 slots of at most 128 pieces of the key space and 32 partitions each. 64 busy ranges and 32 hot partitions take
//! 20 MB, 128 pieces in every slot 34 MB, and the keys; idle ranges take some bytes a window. In the store 64 busy ranges and 32
//! hot partitions take about 3.3 MB.
//!
//! Wall time comes from the caller, as `rt::Clock` has it, because a heat map shows wall time. A clock that is set back adds
//! to the newest slot until it has caught up; slots more than an hour ahead of it are forgotten.

mod archive;
mod extent;
mod grid;
mod load;
mod map;
mod partitions;
mod segment;
mod slot;
mod tiers;

use crate::Window;
use parking_lot::Mutex;
use slot::{Cell, Happened, Keys, SPOTS_MAX, Slot, Spot, Time};
use std::cmp::Reverse;
use std::time::{Duration, SystemTime};
use tiers::Tiers;

pub use archive::{Archive, SaveError};
pub use extent::Extent;
pub use grid::Metric;
pub use map::{HeatMap, KeyRow, MapShape};
pub use partitions::PartitionRow;

/// The length of a window.
pub const WINDOW: Duration = Duration::from_secs(10);

/// A window of one range.
#[derive(Clone, Debug)]
pub struct RangeWindow<'w> {
    /// Where the range lay at that time.
    pub extent: Extent,
    /// Its counts, latencies and hottest partitions.
    pub window: &'w Window,
}

/// A day of heat of all ranges.
#[derive(Debug)]
pub struct HeatHistory {
    tiers: Mutex<Tiers>,
}

impl HeatHistory {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Tiers::default())
    }

    const fn of(tiers: Tiers) -> Self {
        Self {
            tiers: Mutex::new(tiers),
        }
    }

    /// Adds windows that were closed at `now`. Their time is the ten seconds that the middle of a full window falls into.
    pub fn record(&self, now: SystemTime, ranges: &[RangeWindow<'_>]) {
        let at = time_of(now.checked_sub(WINDOW / 2).unwrap_or(now));
        let mut tiers = self.tiers.lock();
        let happened = happened(ranges, &mut tiers.keys);
        let forgotten = tiers.record(at, happened);
        drop(tiers);
        if forgotten > 0 {
            tracing::warn!(
                slots = forgotten,
                "the clock was set back: forgot heat that lay in the future"
            );
        }
    }

    /// A grid of times and keys. Takes some milliseconds for a day of 64 busy ranges.
    #[must_use]
    pub fn map(&self, from: SystemTime, to: SystemTime, shape: MapShape) -> HeatMap {
        self.map_within(from, to, shape, &Extent::all())
    }

    /// The part of it that has keys between the bounds. A range that has others too is in it with all its load.
    #[must_use]
    pub fn map_within(
        &self,
        from: SystemTime,
        to: SystemTime,
        shape: MapShape,
        keys: &Extent,
    ) -> HeatMap {
        self.with(|tiers| map::draw(tiers, (from, to), shape, keys))
    }

    /// The same for partitions: a row for each of those with the most of the metric in that time, most first; for a percentile,
    /// with the most requests. Of each slot the 32 hottest are known.
    #[must_use]
    pub fn partitions(
        &self,
        from: SystemTime,
        to: SystemTime,
        shape: MapShape,
        keys: &Extent,
    ) -> Vec<PartitionRow> {
        self.with(|tiers| partitions::draw(tiers, (from, to), shape, keys))
    }

    /// How many slots are kept, of all tiers. At most 885.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.with(|tiers| {
            let tiers = tiers::Tier::ALL.map(|tier| tiers.of(tier).len());
            tiers.iter().sum()
        })
    }

    /// Memory that is held for windows, in bytes, without the keys of ranges.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let of = |slot: &Slot| {
            let (cells, spots) = (slot.cells(), slot.spots());
            let busy = cells.iter().filter(|cell| cell.load.is_some()).count() + spots.len();
            let places = size_of_val(cells) + size_of_val(spots);
            size_of::<Slot>() + places + busy * size_of::<load::Load>()
        };
        self.with(|tiers| {
            let slots = tiers::Tier::ALL.into_iter().flat_map(|tier| tiers.of(tier));
            slots.map(of).sum()
        })
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

/// What happened in the windows.
fn happened(ranges: &[RangeWindow<'_>], keys: &mut Keys) -> Happened {
    let cells = ranges.iter().map(|range| Cell {
        extent: keys.extents.of(range.extent.clone()),
        load: load::Load::of(range.window),
    });
    let cells = cells.collect();
    let mut partitions: Vec<_> = ranges
        .iter()
        .flat_map(|range| &range.window.partitions)
        .collect();
    // Before their keys are interned, so that dropped ones are never stored.
    partitions.sort_by_key(|window| Reverse(window.counts.demand()));
    partitions.truncate(SPOTS_MAX);
    let spots = partitions.into_iter().map(|window| Spot {
        partition: keys.partitions.of(window.partition.clone()),
        load: load::Load::of_partition(window),
    });
    let spots = spots.collect();
    Happened { cells, spots }
}

/// The time until the windows end: at full tens of seconds of the wall clock, so that each has a slot of its own however late it is
/// closed. More than 0, at most [`WINDOW`].
#[must_use]
pub fn until_next_window(now: SystemTime) -> Duration {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let window_ms = WINDOW.as_millis();
    let left_ms = window_ms - since.as_millis() % window_ms;
    Duration::from_millis(u64::try_from(left_ms).unwrap_or(u64::MAX))
}

/// Tens of seconds since 1970; 0 before.
fn time_of(time: SystemTime) -> Time {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Time::try_from(since.as_secs() / WINDOW.as_secs()).unwrap_or(Time::MAX / 2)
}

#[cfg(test)]
mod tests;
