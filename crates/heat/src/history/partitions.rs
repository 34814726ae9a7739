//! The hottest partitions over time.

use super::grid::{Grid, ShownSlot, Times};
use super::map::{MapShape, ROWS_MAX};
use super::tiers::Tiers;
use crate::Bounds;
use bytes::Bytes;
use std::collections::HashMap;
use std::time::SystemTime;

/// One partition over time.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionRow {
    /// Its indivisible prefix.
    pub partition: Bytes,
    /// The sum or percentile of each column. `None` if the history has no data of the column's time, if the partition
    /// was not among the hottest, or if a percentile has no requests.
    pub values: Vec<Option<f64>>,
}

/// The partitions inside `keys` over a time range, highest metric first.
pub(super) fn draw(
    histories: &[&Tiers],
    (from, to): (SystemTime, SystemTime),
    shape: MapShape,
    keys: &Bounds,
) -> Vec<PartitionRow> {
    let time = Times::new(from, to, shape.columns);
    let shown = time.slots(histories);
    let hottest = hottest(&shown, shape, keys);
    let row_of: HashMap<&Bytes, usize> = hottest.iter().copied().zip(0..).collect();
    let mut grid = Grid::new(shape.metric, hottest.len(), &time);
    for ShownSlot { slot, columns } in &shown {
        for spot in slot.spots() {
            if let Some(row) = row_of.get(&*spot.partition) {
                grid.add(*row, columns, Some(&spot.load), 1.0);
            }
        }
    }
    let rows = hottest.into_iter().zip(grid.values());
    rows.map(|(partition, values)| PartitionRow {
        partition: partition.clone(),
        values,
    })
    .collect()
}

/// The partitions with the highest metric above 0, highest first.
fn hottest<'t>(shown: &[ShownSlot<'t>], shape: MapShape, keys: &Bounds) -> Vec<&'t Bytes> {
    let mut sums: HashMap<&Bytes, f64> = HashMap::new();
    for ShownSlot { slot, columns } in shown {
        let part: f64 = columns.iter().map(|(_, part)| part).sum();
        let spots = slot.spots().iter();
        for spot in spots.filter(|spot| keys.contains(&spot.partition)) {
            let count = shape.metric.of(&spot.load.counts);
            if count > 0 {
                *sums.entry(&spot.partition).or_default() += count as f64 * part;
            }
        }
    }
    let mut hottest: Vec<(&Bytes, f64)> = sums.into_iter().collect();
    hottest.sort_by(|(a, a_sum), (b, b_sum)| b_sum.total_cmp(a_sum).then_with(|| a.cmp(b)));
    hottest.truncate(shape.rows.clamp(1, ROWS_MAX));
    hottest
        .into_iter()
        .map(|(partition, _)| partition)
        .collect()
}
