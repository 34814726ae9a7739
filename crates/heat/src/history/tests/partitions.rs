//! The hottest partitions over time.

use super::*;

/// Records a window of one range with these partitions and their reads.
fn record(history: &HeatHistory, clock: &ManualClock, partitions: &[(&str, u64)]) {
    let all = partitions.iter().map(|(_, reads)| reads).sum();
    let mut window = reads(all);
    window.partitions = partitions
        .iter()
        .map(|(name, reads)| partition(Bytes::copy_from_slice(name.as_bytes()), *reads))
        .collect();
    clock.advance(WINDOW);
    record_everywhere(history, clock, &window);
}

fn shape(metric: Metric, columns: usize, rows: usize) -> MapShape {
    MapShape {
        metric,
        columns,
        rows,
    }
}

fn named(map: &[PartitionRow]) -> Vec<(&[u8], &[Option<f64>])> {
    let rows = map.iter();
    rows.map(|row| (&row.partition[..], &row.values[..]))
        .collect()
}

#[test]
fn partitions_are_sorted_by_metric_with_their_time_columns() {
    let (clock, history) = (clock(), HeatHistory::new());
    let start = clock.now();
    record(&history, &clock, &[("a", 5), ("b", 7)]);
    record(&history, &clock, &[("b", 1), ("c", 100)]);
    record(&history, &clock, &[]);
    let map = |shape, keys: &Bounds| history.partitions(start, clock.now(), shape, keys);

    let all = map(shape(Metric::Reads, 3, 9), &Bounds::all());
    assert_eq!(
        named(&all),
        [
            (&b"c"[..], &[None, Some(100.0), None][..]),
            (b"b", &[Some(7.0), Some(1.0), None]),
            (b"a", &[Some(5.0), None, None]),
        ]
    );
    let latency = map(shape(Metric::P99Us, 1, 1), &Bounds::all());
    assert_eq!(named(&latency), [(&b"c"[..], &[Some(112.0)][..])]);
    // Partitions with a metric of 0 are not shown.
    assert_eq!(map(shape(Metric::Writes, 3, 9), &Bounds::all()), []);

    let some = Bounds {
        start: "a".into(),
        end: Some("b".into()),
    };
    let some = map(shape(Metric::Requests, 1, 9), &some);
    assert_eq!(named(&some), [(&b"a"[..], &[Some(5.0)][..])]);
}

#[test]
fn a_slot_keeps_the_hottest_partitions() {
    let (clock, history) = (clock(), HeatHistory::new());
    let start = clock.now();
    let names: Vec<String> = (0..500).map(|number| format!("{number:03}")).collect();
    // Each partition has more reads than the previous one.
    let many: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(1..).collect();
    record(&history, &clock, &many);
    let map = history.partitions(
        start,
        clock.now(),
        shape(Metric::Reads, 1, 512),
        &Bounds::all(),
    );
    let shown: Vec<f64> = map.iter().flat_map(|row| row.values[0]).collect();
    let expected: Vec<f64> = (0..PARTITIONS_MAX)
        .map(|rank| (500 - rank) as f64)
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn the_load_of_a_hot_partition_is_exact_over_a_day() {
    let (clock, history) = (clock(), HeatHistory::new());
    let start = clock.now();
    for window in 0..8_640_u64 {
        // The other partitions change often, so that a slot of five minutes cannot keep all of them.
        let other = format!("other-{}", window % 97);
        record(&history, &clock, &[("hot", 50), (&other, 3)]);
    }
    let map = history.partitions(
        start,
        clock.now(),
        shape(Metric::Reads, 24, 1),
        &Bounds::all(),
    );
    assert_eq!(map.len(), 1);
    assert_eq!(map[0].partition, "hot");
    for hour in &map[0].values {
        assert!((hour.unwrap() - 50.0 * 360.0).abs() < 1e-6, "{hour:?}");
    }
    let spots = all_slots(&history).concat();
    assert!(
        spots
            .iter()
            .all(|slot| slot.spots().len() <= PARTITIONS_MAX)
    );
}

/// The 1 min slot keeps the partition with the most reads in the minute, although 40 others have more in one window.
#[test]
fn the_hottest_of_a_minute_may_lead_no_single_window() {
    let (clock, history) = (clock(), HeatHistory::new());
    let start = clock.now();
    let names: Vec<String> = (0..40).map(|number| format!("burst-{number}")).collect();
    let burst: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 100)).collect();
    for window in 0..720 {
        match window % 6 {
            0 => record(&history, &clock, &burst),
            _ => record(&history, &clock, &[("steady", 90)]),
        }
    }
    let minutes = start + Duration::from_secs(3_600);
    let map = history.partitions(start, minutes, shape(Metric::Reads, 1, 1), &Bounds::all());
    let [row] = &map[..] else { panic!("{map:?}") };
    assert_eq!(row.partition, "steady");
    let reads = row.values[0].unwrap();
    assert!((reads - 60.0 * 450.0).abs() < 1e-6, "{reads}");
}

#[test]
fn unused_keys_are_dropped() {
    let (clock, history) = (clock(), HeatHistory::new());
    for window in 0..1_000 {
        let names: Vec<String> = (0..100)
            .map(|number| format!("{window}-{number}"))
            .collect();
        let partitions: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 5)).collect();
        record(&history, &clock, &partitions);
    }
    let kept = all_slots(&history).concat();
    let named: usize = kept.iter().map(|slot| slot.spots().len()).sum();
    let known = history.with(|tiers| tiers.keys.partitions.len());
    // The last minute may add keys: they are dropped when its slots become coarser.
    assert!(known <= named + 6 * PARTITIONS_MAX, "{known} for {named}");
}
