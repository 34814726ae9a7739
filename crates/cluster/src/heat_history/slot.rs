//! A piece of time: what happened in which pieces of the key space.

use super::load::Load;
use bytes::Bytes;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

/// Pieces of the key space that a slot tells apart. With more, neighbours with little load are joined.
pub(super) const CELLS_MAX: usize = 128;

/// Counts tens of seconds since 1970.
pub(super) type Time = u32;

/// A contiguous piece of the key space, as some range served it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Extent {
    /// Its first key.
    pub(super) start: Bytes,
    /// The first key behind it; `None` when it has no end.
    pub(super) end: Option<Bytes>,
}

impl Ord for Extent {
    fn cmp(&self, other: &Self) -> Ordering {
        let ends = || compare_ends(self.end.as_ref(), other.end.as_ref());
        self.start.cmp(&other.start).then_with(ends)
    }
}

impl PartialOrd for Extent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Extent {
    /// The least piece that holds both.
    fn union(&self, other: &Self) -> Self {
        let (a, b) = (self.end.as_ref(), other.end.as_ref());
        let end = if compare_ends(a, b).is_lt() { b } else { a };
        Self {
            start: self.start.clone().min(other.start.clone()),
            end: end.cloned(),
        }
    }
}

/// Ends in key order: no end is behind every key.
fn compare_ends(a: Option<&Bytes>, b: Option<&Bytes>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}

/// What happened in one extent.
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

/// What happened in some time, whose length its tier knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) start: Time,
    /// By extent; at most [`CELLS_MAX`]. Extents overlap where a range was split or merged meanwhile.
    cells: Vec<Cell>,
}

impl Slot {
    pub(super) fn new(start: Time, cells: Vec<Cell>) -> Self {
        let mut slot = Self {
            start,
            cells: Vec::new(),
        };
        slot.add(cells);
        slot
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Adds what else happened in its time.
    pub(super) fn add(&mut self, cells: Vec<Cell>) {
        self.cells.extend(cells);
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

    /// Takes what happened, leaving nothing.
    pub(super) fn into_cells(self) -> Vec<Cell> {
        self.cells
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
}

/// Extents that are in use, so that equal ones share memory: the map changes much less often than a window ends.
#[derive(Debug, Default)]
pub(super) struct Extents {
    known: HashSet<Arc<Extent>>,
}

impl Extents {
    /// The extent kept for equal ones.
    pub(super) fn of(&mut self, extent: Extent) -> Arc<Extent> {
        if let Some(known) = self.known.get(&extent) {
            return Arc::clone(known);
        }
        let extent = Arc::new(extent);
        self.known.insert(Arc::clone(&extent));
        extent
    }

    /// Lets go of those that nothing else uses.
    pub(super) fn sweep(&mut self) {
        self.known.retain(|extent| Arc::strong_count(extent) > 1);
    }
}
