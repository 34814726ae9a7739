//! The heat map: times across, keys down.
//!
//! Rows are pieces of the key space between the boundaries that ranges had meanwhile. With more pieces than rows, neighbours
//! are joined so that rows take about the same load: hot keys are seen finely, cold ones coarsely. What happened in a piece
//! that was one range then and several later is spread evenly over them; what happened in a slot longer than a column, over
//! the columns. So a map's sum is the sum of what happened in its time.

use super::load::Load;
use super::slot::{Cell, Extent, Slot};
use super::tiers::{Tier, Tiers};
use bytes::Bytes;
use partita_range::Bounds;
use partita_range::heat::serialize_hex;
use partita_range::heat::{COARSE_BUCKETS, coarse_percentile_us};
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::SystemTime;

/// Columns at most: a day of minutes.
const COLUMNS_MAX: usize = 1_440;
/// Rows at most.
const ROWS_MAX: usize = 512;

/// What a map shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Requests served.
    Requests,
    /// Requests that read.
    Reads,
    /// Requests that changed something.
    Writes,
    /// Rows read.
    RowsScanned,
    /// Bytes of bodies, in and out.
    Bytes,
    /// Requests refused because a target was passed.
    Throttled,
    /// The latency that half of the requests did not exceed, in microseconds; at most a quarter off.
    P50Us,
    /// The same for 99 of 100 requests.
    P99Us,
}

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
    keys: &Bounds,
) -> HeatMap {
    let (from_s, to_s) = (seconds(from), seconds(to));
    let columns = shape.columns.clamp(1, COLUMNS_MAX);
    let time = Times {
        from_s,
        column_s: ((to_s - from_s) / columns as f64).max(1e-3),
        columns,
    };
    let shown = || {
        let slots = Tier::ALL.into_iter().flat_map(|tier| {
            let slots = tiers.of(tier).iter();
            slots.map(move |slot| (slot, time.columns_of(slot, tier)))
        });
        slots.filter(|(_, columns)| !columns.is_empty())
    };
    let pieces = Pieces::of(shown().map(|(slot, _)| slot));
    let rows = pieces.rows(pieces.overlapping(keys), shape.rows.clamp(1, ROWS_MAX));
    let row_of = row_of_pieces(&rows, pieces.starts.len());
    let mut grid = Grid::new(shape.metric, rows.len(), columns);
    for (slot, columns) in shown() {
        for cell in slot.cells() {
            let pieces = pieces.within(&cell.extent);
            grid.add(cell, &columns, &pieces, &row_of);
        }
    }
    HeatMap {
        metric: shape.metric,
        from_s,
        column_s: time.column_s,
        rows: rows.iter().map(|row| pieces.keys(row)).collect(),
        values: grid.values(),
    }
}

fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// The columns.
#[derive(Clone, Copy)]
struct Times {
    from_s: f64,
    column_s: f64,
    columns: usize,
}

impl Times {
    /// The columns that a slot falls into, each with the part of the slot that does.
    fn columns_of(&self, slot: &Slot, tier: Tier) -> Vec<(usize, f64)> {
        let window_s = super::WINDOW.as_secs_f64();
        let span = f64::from(tier.span()) * window_s / self.column_s;
        let start = (f64::from(slot.start) * window_s - self.from_s) / self.column_s;
        let end = start + span;
        let first = start.floor().max(0.0) as usize;
        let behind = (end.ceil().max(0.0) as usize).min(self.columns);
        (first..behind)
            .map(|column| {
                let (left, right) = (column as f64, column as f64 + 1.0);
                (column, (end.min(right) - start.max(left)) / span)
            })
            .filter(|(_, part)| *part > 1e-9)
            .collect()
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
    fn overlapping(&self, keys: &Bounds) -> Range<usize> {
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

/// The sums, row by row.
struct Grid {
    metric: Metric,
    columns: usize,
    cells: Vec<Sum>,
}

/// What is added up for one value of the map.
#[derive(Clone)]
enum Sum {
    Nothing,
    Total(f64),
    Latency(Box<[f64; COARSE_BUCKETS]>),
}

impl Grid {
    fn new(metric: Metric, rows: usize, columns: usize) -> Self {
        Self {
            metric,
            columns,
            cells: vec![Sum::Nothing; rows * columns],
        }
    }

    /// Adds a cell that lies in some columns, by parts, and spans some pieces.
    fn add(
        &mut self,
        cell: &Cell,
        columns: &[(usize, f64)],
        pieces: &Range<usize>,
        row_of: &[Option<usize>],
    ) {
        let each = 1.0 / pieces.len().max(1) as f64;
        let mut rows: Vec<(usize, f64)> = Vec::new();
        let shown = row_of.get(pieces.clone()).unwrap_or_default();
        for row in shown.iter().flatten() {
            match rows.last_mut().filter(|(last, _)| last == row) {
                Some((_, part)) => *part += each,
                None => rows.push((*row, each)),
            }
        }
        for (row, of_keys) in rows {
            for (column, of_time) in columns {
                if let Some(sum) = self.cells.get_mut(row * self.columns + column) {
                    sum.add(self.metric, cell.load.as_deref(), of_keys * of_time);
                }
            }
        }
    }

    fn values(&self) -> Vec<Vec<Option<f64>>> {
        let rows = self.cells.chunks(self.columns);
        let share = if self.metric == Metric::P50Us {
            0.5
        } else {
            0.99
        };
        rows.map(|row| row.iter().map(|sum| sum.value(share)).collect())
            .collect()
    }
}

impl Sum {
    fn add(&mut self, metric: Metric, load: Option<&Load>, part: f64) {
        let counts = load.map(|load| load.counts).unwrap_or_default();
        let count = match metric {
            Metric::Requests => counts.requests(),
            Metric::Reads => counts.reads,
            Metric::Writes => counts.writes,
            Metric::RowsScanned => counts.rows_scanned,
            Metric::Bytes => counts.bytes_in + counts.bytes_out,
            Metric::Throttled => counts.throttled,
            Metric::P50Us | Metric::P99Us => return self.add_latency(load, part),
        };
        let before = if let Self::Total(before) = self {
            *before
        } else {
            0.0
        };
        *self = Self::Total(before + count as f64 * part);
    }

    fn add_latency(&mut self, load: Option<&Load>, part: f64) {
        let Some(load) = load else {
            return;
        };
        if !matches!(self, Self::Latency(_)) {
            *self = Self::Latency(Box::new([0.0; COARSE_BUCKETS]));
        }
        if let Self::Latency(sums) = self {
            for (sum, count) in sums.iter_mut().zip(&load.latency) {
                *sum += f64::from(*count) * part;
            }
        }
    }

    fn value(&self, share: f64) -> Option<f64> {
        match self {
            Self::Nothing => None,
            Self::Total(total) => Some(*total),
            Self::Latency(latency) => coarse_percentile_us(latency.iter().copied(), share),
        }
    }
}
