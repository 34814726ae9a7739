//! The heat map: times across, keys down.
//!
//! The bounds that key buckets had in the map's time divide the keys into rows. If there are more rows than requested,
//! neighbours are joined so that rows have about the same load: hot keys get narrow rows, cold keys wide rows. A row
//! begins with keys that have load, if there are such keys in it, because its first key is its name. The load
//! of a bucket that was divided later is divided evenly among its parts. The load of a slot longer than a column is
//! divided among the columns that the slot overlaps. So the sum of a map is the load of its time.

use super::grid::{Grid, Metric, ShownSlot, Times};
use super::slot::Slot;
use super::tiers::Tiers;
use crate::Bounds;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::SystemTime;

/// The maximum number of rows.
pub(super) const ROWS_MAX: usize = 512;

/// A smaller weight of a piece is a rounding error.
const WEIGHT_MIN: f64 = 1e-6;

/// The metric and size of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapShape {
    /// The quantity shown.
    pub metric: Metric,
    /// Columns of time: 1 to 1,440.
    pub columns: usize,
    /// The maximum number of rows: 1 to 512.
    pub rows: usize,
}

/// Load by key range and time.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// The key range of each row, in key order.
    pub rows: Vec<Bounds>,
    /// For each row, the value of each column: the sum over the column's time, or the percentile. `None` if there is no
    /// data for that time and those keys, or if a percentile has no requests.
    pub values: Vec<Vec<Option<f64>>>,
}

/// Draws the map of a time range, of ranges that overlap `keys`, in the histories of one or several servers.
pub(super) fn draw(
    histories: &[&Tiers],
    (from, to): (SystemTime, SystemTime),
    shape: MapShape,
    keys: &Bounds,
) -> HeatMap {
    let time = Times::new(from, to, shape.columns);
    let shown = time.slots(histories);
    let pieces = Pieces::of(shown.iter().map(|shown| shown.slot));
    let rows = pieces.rows(pieces.overlapping(keys), shape.rows.clamp(1, ROWS_MAX));
    let row_of = row_of_pieces(&rows, pieces.starts.len());
    let mut grid = Grid::new(shape.metric, rows.len(), &time);
    for ShownSlot { slot, columns } in &shown {
        for cell in slot.cells() {
            for (row, part) in parts(&pieces.within(&cell.extent), &row_of) {
                grid.add(row, columns, cell.load.as_deref(), part);
            }
        }
    }
    HeatMap {
        rows: rows.iter().map(|row| pieces.keys(row)).collect(),
        values: grid.values(),
    }
}

/// The key ranges between all bounds of the slots.
struct Pieces<'s> {
    /// The first key of each piece; the first one is empty.
    starts: Vec<&'s [u8]>,
    /// The approximate load of each piece.
    weights: Vec<f64>,
}

impl<'s> Pieces<'s> {
    fn of(slots: impl Iterator<Item = &'s Slot> + Clone) -> Self {
        let cells = slots.flat_map(Slot::cells);
        let extents = cells.clone().map(|cell| &*cell.extent);
        let bounds = extents.flat_map(|extent| std::iter::once(&extent.start).chain(&extent.end));
        let starts: BTreeSet<&[u8]> = bounds.map(|key| key.as_ref()).collect();
        let mut pieces = Self {
            starts: starts.into_iter().collect(),
            weights: Vec::new(),
        };
        // Stores differences first, then computes running sums, so that the cost of a cell does not depend on the
        // number of pieces it spans.
        let mut steps = vec![0.0; pieces.starts.len() + 1];
        for cell in cells {
            let within = pieces.within(&cell.extent);
            let weight = cell.load.as_ref().map_or(0, |load| load.weight()) as f64;
            let each = weight / within.len().max(1) as f64;
            for (at, step) in [(within.start, each), (within.end, -each)] {
                if let Some(sum) = steps.get_mut(at) {
                    *sum += step;
                }
            }
        }
        let mut weight = 0.0;
        let sums = steps.iter().map(|step| {
            weight += step;
            // Sums of fractions leave a rest where all cells have ended.
            if weight > WEIGHT_MIN { weight } else { 0.0 }
        });
        pieces.weights = sums.take(pieces.starts.len()).collect();
        pieces
    }

    /// The pieces of an extent. The bounds of the extent must be bounds of pieces.
    fn within(&self, extent: &Bounds) -> Range<usize> {
        let at = |key: &Bytes| self.starts.partition_point(|start| *start < key.as_ref());
        at(&extent.start)..extent.end.as_ref().map_or(self.starts.len(), at)
    }

    /// The pieces that overlap `keys`.
    fn overlapping(&self, keys: &Bounds) -> Range<usize> {
        let behind = |key: &Bytes| self.starts.partition_point(|start| *start <= key.as_ref());
        let first = behind(&keys.start).saturating_sub(1);
        let end = keys.end.as_ref();
        let end = end.map(|end| self.starts.partition_point(|start| *start < end.as_ref()));
        first..end.unwrap_or(self.starts.len()).max(first)
    }

    /// Joins pieces into at most `max` rows.
    fn rows(&self, shown: Range<usize>, max: usize) -> Vec<Range<usize>> {
        let count = shown.len();
        if count <= max {
            return shown.map(|piece| piece..piece + 1).collect();
        }
        let weights = self.weights.get(shown.clone()).unwrap_or_default();
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            let even = vec![1.0; count];
            return rows_up_to(shown.start, &even, count.div_ceil(max) as f64);
        }
        let mut weight = total / max as f64;
        // With the whole weight there are at most two rows: idle pieces, and the rest.
        while weight <= total * 1.1 {
            let rows = rows_up_to(shown.start, weights, weight);
            if rows.len() <= max {
                return rows;
            }
            weight *= 1.1;
        }
        vec![shown]
    }

    fn keys(&self, row: &Range<usize>) -> Bounds {
        let start = |piece: usize| self.starts.get(piece).copied().map(Bytes::copy_from_slice);
        Bounds {
            start: start(row.start).unwrap_or_default(),
            end: start(row.end),
        }
    }
}

/// Joins neighbours, starting at the piece `first`, while their total weight is at most `weight`. A piece with load is
/// not joined with idle pieces before it.
fn rows_up_to(first: usize, weights: &[f64], weight: f64) -> Vec<Range<usize>> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    let mut joined = 0.0;
    for (piece, of_piece) in (first..).zip(weights) {
        let is_first_load = joined <= 0.0 && *of_piece > 0.0;
        joined += of_piece;
        match rows.last_mut() {
            Some(row) if joined <= weight && !is_first_load => row.end = piece + 1,
            _ => {
                joined = *of_piece;
                rows.push(piece..piece + 1);
            }
        }
    }
    rows
}

/// The row of each piece; `None` for pieces that are not shown.
fn row_of_pieces(rows: &[Range<usize>], pieces: usize) -> Vec<Option<usize>> {
    let mut row_of = vec![None; pieces];
    for (row, pieces) in rows.iter().enumerate() {
        for of_piece in row_of.get_mut(pieces.clone()).into_iter().flatten() {
            *of_piece = Some(row);
        }
    }
    row_of
}

/// The rows of some pieces, each with its share of the pieces.
fn parts(pieces: &Range<usize>, row_of: &[Option<usize>]) -> Vec<(usize, f64)> {
    let each = 1.0 / pieces.len().max(1) as f64;
    let mut rows: Vec<(usize, f64)> = Vec::new();
    let shown = row_of.get(pieces.clone()).unwrap_or_default();
    for row in shown.iter().flatten() {
        match rows.last_mut().filter(|(last, _)| last == row) {
            Some((_, part)) => *part += each,
            None => rows.push((*row, each)),
        }
    }
    rows
}
