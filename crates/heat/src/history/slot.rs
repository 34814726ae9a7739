//! A slot: the load of a period, by key range and for the hottest partitions.

use super::load::LoadSum;
use crate::Bounds;
use crate::PARTITIONS_MAX;
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

/// The maximum number of cells in a slot. Above that, neighbours with little load are merged.
pub(super) const CELLS_MAX: usize = 128;

/// The maximum number of partitions in a slot.
pub(super) const SPOTS_MAX: usize = PARTITIONS_MAX;

/// A time, in tens of seconds since 1970.
pub(super) type Time = u32;

/// The load of one extent: of a key bucket, of a range, or of several joined ones. A range with key buckets also has an
/// idle cell, which says that the history knows its other keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) extent: Arc<Bounds>,
    /// `None` if the range was served but idle.
    pub(super) load: Option<Box<LoadSum>>,
}

impl Cell {
    fn weight(&self) -> u64 {
        self.load.as_ref().map_or(0, |load| load.weight())
    }

    fn add(&mut self, load: Option<Box<LoadSum>>) {
        match (&mut self.load, load) {
            (Some(sum), Some(load)) => sum.add(&load),
            (sum @ None, load) => *sum = load,
            (Some(_), None) => {}
        }
    }
}

/// The load of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Its indivisible prefix.
    pub(super) partition: Arc<Bytes>,
    pub(super) load: Box<LoadSum>,
}

/// The load in a slot, by key range and by partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotLoad {
    /// The load by extent; at most [`CELLS_MAX`] cells. Extents overlap if a range was split or merged in that time.
    pub(super) cells: Vec<Cell>,
    /// The hottest partitions, by key; at most [`SPOTS_MAX`]. Their load is also in the cells.
    pub(super) spots: Vec<Spot>,
}

impl SlotLoad {
    /// Appends another load; [`SlotLoad::compact`] joins equal keys and enforces the limits.
    pub(super) fn extend(&mut self, other: Self) {
        let Self { cells, spots } = other;
        self.cells.extend(cells);
        self.spots.extend(spots);
    }

    fn compact(&mut self) {
        self.compact_cells();
        self.compact_spots();
    }

    fn compact_cells(&mut self) {
        self.cells.sort_by(|a, b| a.extent.cmp(&b.extent));
        self.cells.dedup_by(|next, kept| {
            let same = next.extent == kept.extent;
            if same {
                kept.add(next.load.take());
            }
            same
        });
        join_cells(&mut self.cells, CELLS_MAX);
        self.cells.shrink_to_fit();
    }

    /// Keeps the [`SPOTS_MAX`] partitions with the most load. If a partition was among the hottest for only a part of a
    /// coarse slot, its stored load is a lower bound.
    fn compact_spots(&mut self) {
        self.spots.sort_by(|a, b| a.partition.cmp(&b.partition));
        self.spots.dedup_by(|next, kept| {
            let same = next.partition == kept.partition;
            if same {
                kept.load.add(&next.load);
            }
            same
        });
        if self.spots.len() > SPOTS_MAX {
            self.spots
                .sort_by_key(|spot| Reverse(spot.load.counts.demand()));
            self.spots.truncate(SPOTS_MAX);
            self.spots.sort_by(|a, b| a.partition.cmp(&b.partition));
        }
        self.spots.shrink_to_fit();
    }
}

/// Joins neighbours with little load until at most `max` cells are left.
pub(super) fn join_cells(cells: &mut Vec<Cell>, max: usize) {
    // A busy cell joined with the idle cell of its range would spread its load over the range.
    let cost = |pair: &[Cell]| {
        let idle = pair.iter().filter(|cell| cell.load.is_none()).count();
        (idle == 1, pair.iter().map(Cell::weight).sum::<u64>())
    };
    while cells.len() > max.max(1) {
        let pairs = cells.windows(2).enumerate();
        let Some((at, _)) = pairs.min_by_key(|(_, pair)| cost(pair)) else {
            return;
        };
        let right = cells.remove(at + 1);
        if let Some(left) = cells.get_mut(at) {
            left.extent = Arc::new(left.extent.union(&right.extent));
            left.add(right.load);
        }
    }
}

/// The load of a period; its tier determines the length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) start: Time,
    load: SlotLoad,
}

impl Slot {
    pub(super) fn new(start: Time, mut load: SlotLoad) -> Self {
        load.compact();
        Self { start, load }
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.load.cells
    }

    pub(super) fn spots(&self) -> &[Spot] {
        &self.load.spots
    }

    /// Adds load of the same period.
    pub(super) fn add(&mut self, load: SlotLoad) {
        self.load.extend(load);
        self.load.compact();
    }

    pub(super) fn into_load(self) -> SlotLoad {
        self.load
    }
}

/// Values in use, each stored once: ranges and hot partitions are the same in most windows.
#[derive(Debug, Default)]
pub(super) struct Interner<T>(HashSet<Arc<T>>);

impl<T: Eq + Hash> Interner<T> {
    /// The stored value that equals `value`.
    pub(super) fn intern(&mut self, value: T) -> Arc<T> {
        if let Some(known) = self.0.get(&value) {
            return Arc::clone(known);
        }
        let value = Arc::new(value);
        self.0.insert(Arc::clone(&value));
        value
    }

    /// Drops unused values.
    fn sweep(&mut self) {
        self.0.retain(|value| Arc::strong_count(value) > 1);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The keys of all slots.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) extents: Interner<Bounds>,
    pub(super) partitions: Interner<Bytes>,
}

impl Keys {
    /// Drops keys that no slot uses.
    pub(super) fn sweep(&mut self) {
        self.extents.sweep();
        self.partitions.sweep();
    }
}
