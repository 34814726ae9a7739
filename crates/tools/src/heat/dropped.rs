//! The key buckets of a dropped table or queue as one row: their keys mean nothing any more.

use partita_wire::admin::{Heat, HeatRow};

/// Joins neighbouring key buckets of the same dropped table or queue. Counts are added; of latencies the highest counts.
pub fn join_dropped(heat: &mut Heat) {
    let is_latency = heat.metric.ends_with("_us");
    let together = |a: f64, b: f64| if is_latency { a.max(b) } else { a + b };
    let mut joined: Vec<HeatRow> = Vec::new();
    for mut row in std::mem::take(&mut heat.rows) {
        let dropped = dropped_id(&row).map(str::to_owned);
        let last = joined.last_mut();
        let same = last.filter(|last| dropped.is_some() && dropped_id(last) == dropped.as_deref());
        match (same, &mut row) {
            (
                Some(HeatRow::Range { end, values, .. }),
                HeatRow::Range {
                    end: new_end,
                    values: more,
                    ..
                },
            ) => {
                *end = new_end.take();
                for (value, more) in values.iter_mut().zip(more) {
                    *value = match (*value, *more) {
                        (Some(a), Some(b)) => Some(together(a, b)),
                        (a, b) => a.or(b),
                    };
                }
            }
            _ => joined.push(row),
        }
    }
    for row in &mut joined {
        let is_dropped = dropped_id(row).is_some();
        if let HeatRow::Range {
            start: Some(start), ..
        } = row
            && is_dropped
        {
            (start.partition_key, start.after_partition) = (None, None);
        }
    }
    heat.rows = joined;
}

/// The id of the dropped table or queue in which a key bucket begins.
fn dropped_id(row: &HeatRow) -> Option<&str> {
    let HeatRow::Range { start, .. } = row else {
        return None;
    };
    let start = start.as_ref()?;
    let is_dropped = start.table.is_none() && start.queue.is_none();
    let id = start.table_id.as_deref().or(start.queue_id.as_deref());
    id.filter(|_| is_dropped)
}

#[cfg(test)]
mod tests {
    use super::super::label;
    use super::*;
    use partita_wire::admin::NamedKey;

    fn row(table: Option<&str>, id: &str, key: &str, values: &[Option<f64>]) -> HeatRow {
        let named = |partition: &str| NamedKey {
            key: format!("{id}/{partition}"),
            table: table.map(str::to_owned),
            table_id: Some(id.to_owned()),
            partition_key: Some(partition.to_owned()),
            ..NamedKey::default()
        };
        HeatRow::Range {
            start: Some(named(key)),
            end: Some(named(&format!("{key}z"))),
            values: values.to_vec(),
        }
    }

    fn joined(metric: &str) -> Heat {
        let mut heat = Heat {
            metric: metric.to_owned(),
            columns: 2,
            rows: vec![
                row(Some("cats"), "1", "a", &[Some(1.0), None]),
                row(Some("cats"), "1", "b", &[Some(1.0), None]),
                row(None, "2", "a", &[Some(2.0), None]),
                row(None, "2", "b", &[Some(3.0), Some(4.0)]),
                row(None, "3", "a", &[None, Some(5.0)]),
            ],
            ..Heat::default()
        };
        join_dropped(&mut heat);
        heat
    }

    /// B2: a dropped table is one row.
    #[test]
    fn b2_a_dropped_table_is_one_row() {
        let heat = joined("requests");
        let labels: Vec<String> = heat.rows.iter().map(label).collect();
        let dropped = "(dropped table)";
        assert_eq!(labels, ["cats 'a'", "cats 'b'", dropped, dropped]);
        assert_eq!(heat.rows[2].values(), [Some(5.0), Some(4.0)]);
        let HeatRow::Range { end, .. } = &heat.rows[2] else {
            panic!("{heat:?}");
        };
        assert_eq!(end.as_ref().unwrap().key, "2/bz");
        assert_eq!(joined("p99_us").rows[2].values(), [Some(3.0), Some(4.0)]);
    }
}
