//! A slot: the load of a piece of time, by pieces of the key space and for the hottest partitions.

use super::extent::Extent;
use super::load::Load;
use crate::PARTITIONS_MAX;
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

/// The most pieces of the key space in a slot. With more, neighbours with little load are merged.
pub(super) const CELLS_MAX: usize = 128;

/// The most partitions in a slot.
pub(super) const SPOTS_MAX: usize = PARTITIONS_MAX;

/// Counts tens of seconds since 1970.
pub(super) type Time = u32;

/// The load of one extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) extent: Arc<Extent>,
    /// `None`: it was served, and idle.
    pub(super) load: Option<Box<Load>>,
}

impl Cell {
    fn weight(&self) -> u64 {
        self.load.as_ref().map_or(0, |load| load.weight())
    }

    fn add(&mut self, load: Option<Box<Load>>) {
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
    pub(super) load: Box<Load>,
}

/// What happened in a slot, by key range and by partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Happened {
    /// By extent; at most [`CELLS_MAX`]. Extents overlap where a range was split or merged meanwhile.
    pub(super) cells: Vec<Cell>,
    /// The hottest partitions, by key; at most [`SPOTS_MAX`]. Their load is in the cells too.
    pub(super) spots: Vec<Spot>,
}

impl Happened {
    /// Adds what else happened, as it is: [`Happened::settle`] joins what is equal and keeps the bounds.
    pub(super) fn extend(&mut self, other: Self) {
        let Self { cells, spots } = other;
        self.cells.extend(cells);
        self.spots.extend(spots);
    }

    fn settle(&mut self) {
        self.settle_cells();
        self.settle_spots();
    }

    fn settle_cells(&mut self) {
        self.cells.sort_by(|a, b| a.extent.cmp(&b.extent));
        self.cells.dedup_by(|next, kept| {
            let same = next.extent == kept.extent;
            if same {
                kept.add(next.load.take());
            }
            same
        });
        while self.cells.len() > CELLS_MAX {
            self.join_least();
        }
        self.cells.shrink_to_fit();
    }

    /// Joins the two neighbours with the least load.
    fn join_least(&mut self) {
        let weight = |pair: &[Cell]| pair.iter().map(Cell::weight).sum::<u64>();
        let pairs = self.cells.windows(2).enumerate();
        let Some((at, _)) = pairs.min_by_key(|(_, pair)| weight(pair)) else {
            return;
        };
        let right = self.cells.remove(at + 1);
        if let Some(left) = self.cells.get_mut(at) {
            left.extent = Arc::new(left.extent.union(&right.extent));
            left.add(right.load);
        }
    }

    /// Of too many partitions those with the least load are let go: where they changed places in the time of a coarse slot, a
    /// partition has at least what stands there.
    fn settle_spots(&mut self) {
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

/// The load of some time, whose length its tier knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) start: Time,
    happened: Happened,
}

impl Slot {
    pub(super) fn new(start: Time, happened: Happened) -> Self {
        let mut slot = Self {
            start,
            happened: Happened::default(),
        };
        slot.add(happened);
        slot
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.happened.cells
    }

    pub(super) fn spots(&self) -> &[Spot] {
        &self.happened.spots
    }

    /// Adds what else happened in its time.
    pub(super) fn add(&mut self, happened: Happened) {
        self.happened.extend(happened);
        self.happened.settle();
    }

    /// Takes what happened.
    pub(super) fn into_happened(self) -> Happened {
        self.happened
    }
}

/// Values in use, stored once each: ranges and hot partitions change much less often than a window ends.
#[derive(Debug)]
pub(super) struct Shared<T> {
    known: HashSet<Arc<T>>,
}

impl<T: Eq + Hash> Shared<T> {
    /// The value kept for equal ones.
    pub(super) fn of(&mut self, value: T) -> Arc<T> {
        if let Some(known) = self.known.get(&value) {
            return Arc::clone(known);
        }
        let value = Arc::new(value);
        self.known.insert(Arc::clone(&value));
        value
    }

    /// Drops those that are no longer used.
    fn sweep(&mut self) {
        self.known.retain(|value| Arc::strong_count(value) > 1);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self {
            known: HashSet::new(),
        }
    }
}

/// The keys of all slots.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) extents: Shared<Extent>,
    pub(super) partitions: Shared<Bytes>,
}

impl Keys {
    /// Drops those that no slot uses.
    pub(super) fn sweep(&mut self) {
        self.extents.sweep();
        self.partitions.sweep();
    }
}
