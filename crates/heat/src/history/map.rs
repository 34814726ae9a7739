//! The heat map: times across, keys down.
//!
//! Rows are pieces of the key space between the boundaries that ranges had meanwhile. With more pieces than rows, neighbours
//! are joined so that rows take about the same load: hot keys are seen finely, cold ones coarsely. What happened in a piece
//! that was one range then and several later is spread evenly over them; what happened in a slot longer than a column, over
//! the columns. So a map's sum is the sum of what happened in its time.

use super::extent::Extent;
use super::grid::{Grid, Metric, ShownSlot, Times};
use super::slot::Slot;
use super::tiers::Tiers;
use crate::serialize_hex;
use bytes::Bytes;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::SystemTime;

/// Rows at most.
pub(super) const ROWS_MAX: usize = 512;

/// What a map is to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapShape {
    /// What is shown.
    pub metric: Metric,
    /// How many pieces of time: 1 to 1,440.
    pub columns: usize,
    /// How many pieces of the key space at most: 1 to 512.
    pub rows: usize,
}

/// A grid of heat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatMap {
    /// What the values are.
    pub metric: Metric,
    /// When the first column begins, in seconds since 1970.
    pub from_s: f64,
    /// How long a column is, in seconds. A sum divided by it is a rate.
    pub column_s: f64,
    /// Which keys the rows are, in key order.
    pub rows: Vec<KeyRow>,
    /// For each row its columns: the sum over the column's time, or the percentile. `None` (`null`): nothing is known of
    /// that time and those keys, or for a percentile there were no requests.
    pub values: Vec<Vec<Option<f64>>>,
}

/// The keys of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyRow {
    /// The first key; in JSON as hexadecimal.
    #[serde(serialize_with = "serialize_hex")]
    pub start: Bytes,
    /// The first key behind; `None` when the row has no end.
    #[serde(serialize_with = "serialize_end")]
    pub end: Option<Bytes>,
}

fn serialize_end<S: Serializer>(end: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
    match end {
        Some(end) => serialize_hex(end, serializer),
        None => serializer.serialize_none(),
    }
}

/// Draws the map of what the tiers have from a time to another, of ranges that have keys between the bounds.
pub(super) fn draw(
    tiers: &Tiers,
    (from, to): (SystemTime, SystemTime),
    shape: MapShape,
    keys: &Extent,
) -> HeatMap {
    let time = Times::new(from, to, shape.columns);
    let shown = time.slots(tiers);
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
        metric: shape.metric,
        from_s: time.from_s,
        column_s: time.column_s,
        rows: rows.iter().map(|row| pieces.keys(row)).collect(),
        values: grid.values(),
    }
}

/// The finest pieces of the key space that were told apart.
struct Pieces<'s> {
    /// Where they begin; the first is the empty key.
    starts: Vec<&'s [u8]>,
    /// What each of them took, about.
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
        // First the steps from piece to piece, then their sums: a cell costs the same however many pieces it spans.
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
            f64::max(weight, 0.0)
        });
        pieces.weights = sums.take(pieces.starts.len()).collect();
        pieces
    }

    /// The pieces of an extent, whose bounds are among theirs.
    fn within(&self, extent: &Extent) -> Range<usize> {
        let at = |key: &Bytes| self.starts.partition_point(|start| *start < key.as_ref());
        at(&extent.start)..extent.end.as_ref().map_or(self.starts.len(), at)
    }

    /// The pieces that have keys between the bounds.
    fn overlapping(&self, keys: &Extent) -> Range<usize> {
        let behind = |key: &Bytes| self.starts.partition_point(|start| *start <= key.as_ref());
        let first = behind(&keys.start).saturating_sub(1);
        let end = keys.end.as_ref();
        let end = end.map(|end| self.starts.partition_point(|start| *start < end.as_ref()));
        first..end.unwrap_or(self.starts.len()).max(first)
    }

    /// Joins some pieces into at most `max` rows.
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
        loop {
            let rows = rows_up_to(shown.start, weights, weight);
            if rows.len() <= max {
                return rows;
            }
            weight *= 1.1;
        }
    }

    fn keys(&self, row: &Range<usize>) -> KeyRow {
        let start = |piece: usize| self.starts.get(piece).copied().map(Bytes::copy_from_slice);
        KeyRow {
            start: start(row.start).unwrap_or_default(),
            end: start(row.end),
        }
    }
}

/// Joins neighbours, the first of which is the piece `first`, as long as they weigh no more than `weight` together.
fn rows_up_to(first: usize, weights: &[f64], weight: f64) -> Vec<Range<usize>> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    let mut joined = 0.0;
    for (piece, of_piece) in (first..).zip(weights) {
        joined += of_piece;
        match rows.last_mut() {
            Some(row) if joined <= weight => row.end = piece + 1,
            _ => {
                joined = *of_piece;
                rows.push(piece..piece + 1);
            }
        }
    }
    rows
}

/// For each piece its row, if it is shown.
fn row_of_pieces(rows: &[Range<usize>], pieces: usize) -> Vec<Option<usize>> {
    let mut row_of = vec![None; pieces];
    for (row, pieces) in rows.iter().enumerate() {
        for of_piece in row_of.get_mut(pieces.clone()).into_iter().flatten() {
            *of_piece = Some(row);
        }
    }
    row_of
}

/// The rows that some pieces are in, each with the part of them that it has.
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
