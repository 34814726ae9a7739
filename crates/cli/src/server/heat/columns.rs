//! The columns of a map: how long they are, and which have data.

use partita_tools::heat::time_of_column;
use partita_wire::admin::Heat;
use std::ops::Range;

/// Allowed time spans of a column, in seconds: round numbers, which are easy to read.
const STEPS_S: [u64; 14] = [
    10, 20, 30, 60, 120, 180, 240, 300, 600, 900, 1200, 1800, 2700, 3600,
];

/// The shortest time span of a column, in seconds, so that a map of `last_s` seconds fits into `columns` columns. One
/// column is spare, because the ends of the map are rounded to whole columns.
pub(super) fn step(last_s: u64, columns: u64) -> u64 {
    let fits = |step: &u64| last_s.div_ceil(*step) < columns.max(2);
    let longest = last_s.div_ceil(columns.max(2) - 1).next_multiple_of(10);
    STEPS_S.into_iter().find(fits).unwrap_or(longest)
}

/// The columns from the first to the last with a known value; `None` without data.
pub(super) fn known_columns(heat: &Heat) -> Option<Range<usize>> {
    let is_known = |column: &usize| {
        let mut values = heat.rows.iter().map(|row| row.values().get(*column));
        values.any(|value| value.is_some_and(Option::is_some))
    };
    let first = (0..heat.columns).find(is_known)?;
    let last = (0..heat.columns).rev().find(is_known)?;
    Some(first..last + 1)
}

/// The time from the first column with data to the end of a map, in seconds; `None` without data.
pub(super) fn known_s(heat: &Heat) -> Option<u64> {
    let known = known_columns(heat)?;
    Some((heat.columns - known.start) as u64 * heat.step_seconds)
}

/// Leaves out the last column of a map that ends now: its time has not ended, so its rates would be too low. Keeps it if
/// no other column has data.
pub(super) fn drop_unfinished(heat: &mut Heat) {
    let has_others = known_columns(heat).is_some_and(|known| known.start + 1 < heat.columns);
    if has_others {
        heat.columns -= 1;
    }
}

/// Removes the columns before the first known value, and those after the last.
pub(super) fn trim(heat: &mut Heat) {
    let Some(known) = known_columns(heat) else {
        return;
    };
    let Some(from) = time_of_column(heat, known.start as u64) else {
        return;
    };
    heat.from = Some(from.text().to_string());
    heat.columns = known.len();
    for row in &mut heat.rows {
        let values = row.values_mut();
        values.truncate(known.end);
        values.drain(..known.start.min(values.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::admin::HeatRow;

    fn row(values: &[Option<f64>]) -> HeatRow {
        HeatRow::Range {
            start: None,
            end: None,
            values: values.to_vec(),
        }
    }

    #[test]
    fn unknown_columns_at_both_ends_are_not_drawn() {
        let mut heat = Heat {
            from: Some("2026-02-02T12:00:00Z".to_owned()),
            step_seconds: 60,
            columns: 4,
            rows: vec![
                row(&[None, Some(1.0), None, None]),
                row(&[None, None, Some(2.0), None]),
            ],
            ..Heat::default()
        };
        trim(&mut heat);
        assert_eq!(
            (heat.from.as_deref(), heat.columns),
            (Some("2026-02-02T12:01:00Z"), 2)
        );
        assert_eq!(heat.rows[1].values(), [None, Some(2.0)]);
        for row in &mut heat.rows {
            row.values_mut().fill(None);
        }
        trim(&mut heat);
        assert_eq!(heat.columns, 2);
    }

    #[test]
    fn a_map_that_ends_now_has_no_unfinished_column() {
        let columns = |values: &[Option<f64>]| {
            let mut heat = Heat {
                columns: values.len(),
                rows: vec![row(values)],
                ..Heat::default()
            };
            drop_unfinished(&mut heat);
            heat.columns
        };
        assert_eq!(columns(&[Some(2.0), Some(1.0)]), 1);
        assert_eq!(columns(&[None, Some(1.0)]), 2);
    }

    #[test]
    fn the_map_has_the_shortest_columns_that_fit() {
        assert_eq!(
            (step(3600, 200), step(3600, 61), step(3600, 60)),
            (20, 60, 120)
        );
        assert_eq!(
            (step(60, 40), step(86_400, 48), step(86_400, 10)),
            (10, 2700, 9600)
        );
    }
}
