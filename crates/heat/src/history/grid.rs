//! Sums by row and time column, the data of heat maps.

use super::load::LoadSum;
use super::slot::Slot;
use super::tiers::{Tier, Tiers};
use crate::{COARSE_BUCKETS, Counts, coarse_percentile_us};
use std::time::SystemTime;

/// The maximum number of columns: the minutes of a day.
const COLUMNS_MAX: usize = 1_440;

/// The quantity that a map shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Requests served.
    Requests,
    /// Requests that read.
    Reads,
    /// Write requests, also those that changed no row because their condition failed.
    Writes,
    /// Rows read.
    RowsScanned,
    /// Bytes of keys and stored rows, read and written.
    Bytes,
    /// Requests refused because they exceeded a target.
    Throttled,
    /// The median latency in microseconds, with an error of at most 25 %.
    P50Us,
    /// The 99th percentile of the latency in microseconds, with an error of at most 25 %.
    P99Us,
}

impl Metric {
    /// The count to add; for a percentile, the number of requests.
    pub(super) const fn of(self, counts: &Counts) -> u64 {
        match self {
            Self::Requests | Self::P50Us | Self::P99Us => counts.requests(),
            Self::Reads => counts.reads,
            Self::Writes => counts.writes,
            Self::RowsScanned => counts.rows_scanned,
            Self::Bytes => counts.bytes_in + counts.bytes_out,
            Self::Throttled => counts.throttled,
        }
    }

    /// The percentile as a share of requests; `None` for a sum.
    const fn percentile(self) -> Option<f64> {
        match self {
            Self::P50Us => Some(0.5),
            Self::P99Us => Some(0.99),
            _ => None,
        }
    }
}

/// The time range of a map, divided into columns of equal duration.
#[derive(Clone, Copy)]
pub(super) struct Times {
    from_s: f64,
    column_s: f64,
    columns: usize,
}

/// A slot and the columns that it overlaps, each with the overlapping share of the slot.
pub(super) struct ShownSlot<'t> {
    pub(super) slot: &'t Slot,
    pub(super) columns: Vec<(usize, f64)>,
}

impl Times {
    /// Divides the time range into columns, at least one.
    pub(super) fn new(from: SystemTime, to: SystemTime, columns: usize) -> Self {
        let [from_s, to_s] = [from, to].map(|time| super::since_1970(time).as_secs_f64());
        let columns = columns.clamp(1, COLUMNS_MAX);
        Self {
            from_s,
            column_s: ((to_s - from_s) / columns as f64).max(1e-3),
            columns,
        }
    }

    /// The slots that overlap a column.
    pub(super) fn slots<'t>(&self, histories: &[&'t Tiers]) -> Vec<ShownSlot<'t>> {
        let tiers = histories
            .iter()
            .flat_map(|tiers| Tier::ALL.map(|tier| (tier, tiers.of(tier))));
        let slots = tiers.flat_map(|(tier, slots)| slots.iter().map(move |slot| (slot, tier)));
        let shown = slots.map(|(slot, tier)| ShownSlot {
            slot,
            columns: self.columns_of(slot, tier),
        });
        shown.filter(|shown| !shown.columns.is_empty()).collect()
    }

    /// The columns that a slot overlaps, each with the overlapping share of the slot.
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

/// The sums of a heat map, row by row.
pub(super) struct Grid {
    metric: Metric,
    columns: usize,
    cells: Vec<Sum>,
}

/// The sum for one cell of the map.
#[derive(Clone)]
enum Sum {
    Nothing,
    Total(f64),
    Latency(Box<[f64; COARSE_BUCKETS]>),
}

impl Grid {
    /// A grid without load.
    pub(super) fn new(metric: Metric, rows: usize, time: &Times) -> Self {
        Self {
            metric,
            columns: time.columns,
            cells: vec![Sum::Nothing; rows * time.columns],
        }
    }

    /// Adds a share of a load to a row, divided among columns. `None` is an idle load.
    pub(super) fn add(
        &mut self,
        row: usize,
        columns: &[(usize, f64)],
        load: Option<&LoadSum>,
        part: f64,
    ) {
        for (column, of_time) in columns {
            if let Some(sum) = self.cells.get_mut(row * self.columns + column) {
                sum.add(self.metric, load, part * of_time);
            }
        }
    }

    /// The value of each cell, row by row.
    pub(super) fn values(&self) -> Vec<Vec<Option<f64>>> {
        let rows = self.cells.chunks(self.columns);
        let value = |sum: &Sum| sum.value(self.metric);
        rows.map(|row| row.iter().map(value).collect()).collect()
    }
}

impl Sum {
    fn add(&mut self, metric: Metric, load: Option<&LoadSum>, part: f64) {
        if metric.percentile().is_some() {
            return self.add_latency(load, part);
        }
        let count = load.map_or(0, |load| metric.of(&load.counts));
        let before = match self {
            Self::Total(before) => *before,
            _ => 0.0,
        };
        *self = Self::Total(before + count as f64 * part);
    }

    fn add_latency(&mut self, load: Option<&LoadSum>, part: f64) {
        let Some(load) = load else {
            return;
        };
        if !matches!(self, Self::Latency(_)) {
            *self = Self::Latency(Box::new([0.0; COARSE_BUCKETS]));
        }
        if let Self::Latency(sums) = self {
            for (sum, count) in sums.iter_mut().zip(load.latency.buckets()) {
                *sum += f64::from(*count) * part;
            }
        }
    }

    fn value(&self, metric: Metric) -> Option<f64> {
        match self {
            Self::Nothing => None,
            Self::Total(total) => Some(*total),
            Self::Latency(latency) => {
                coarse_percentile_us(latency.iter().copied(), metric.percentile()?)
            }
        }
    }
}
