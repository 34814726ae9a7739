//! Key buckets in the history and in maps.

use super::*;
use crate::KeyBucket;

fn bucket(start: &'static str, end: Option<&'static str>, reads: u64) -> KeyBucket {
    let of = partition(start, reads);
    KeyBucket {
        start: of.partition,
        end: end.map(Bytes::from),
        counts: of.counts,
        latency: of.latency,
    }
}

fn bucketed(buckets: Vec<KeyBucket>) -> Window {
    let total = buckets.iter().map(|bucket| bucket.counts.reads).sum();
    Window {
        buckets,
        ..reads(total)
    }
}

fn bounds(start: &'static str, end: Option<&'static str>) -> Bounds {
    Bounds {
        start: start.into(),
        end: end.map(Bytes::from),
    }
}

/// The map of the last two minutes with at most `rows` rows: the first key and the sum of each row.
fn rows(history: &HeatHistory, clock: &ManualClock, rows: usize) -> Vec<(Bytes, f64)> {
    let shape = MapShape {
        metric: Metric::Reads,
        columns: 1,
        rows,
    };
    let now = clock.now();
    let map = history.map_within(now - Duration::from_secs(120), now, shape, &Bounds::all());
    let sum = |values: &Vec<Option<f64>>| values.iter().flatten().sum::<f64>();
    let sums = map.values.iter().map(sum);
    let starts = map.rows.into_iter().map(|row| row.start);
    starts.zip(sums).collect()
}

/// As [`rows`], in whole numbers.
fn whole(history: &HeatHistory, clock: &ManualClock, count: usize) -> Vec<(Bytes, f64)> {
    let rows = rows(history, clock, count).into_iter();
    rows.map(|(start, sum)| (start, sum.round())).collect()
}

#[test]
fn a_range_has_a_row_for_each_bucket() {
    let (history, clock) = (HeatHistory::new(), clock());
    let window = bucketed(vec![
        bucket("c", Some("f"), 70),
        bucket("f", Some("g"), 5),
        bucket("p", None, 20),
    ]);
    for bounds in [bounds("", Some("q")), bounds("q", None)] {
        let window = if bounds.end.is_some() {
            &window
        } else {
            &reads(0)
        };
        history.record(clock.now(), &[RangeWindow { bounds, window }]);
    }
    let all = whole(&history, &clock, 64);
    let expected = [
        ("", 0.0),
        ("c", 70.0),
        ("f", 5.0),
        ("g", 0.0),
        ("p", 20.0),
        ("q", 0.0),
    ];
    let expected = expected.map(|(start, sum)| (Bytes::from(start), sum));
    assert_eq!(all, expected);
    // A joined row has the name of a key with load.
    let expected = [("", 0.0), ("c", 70.0), ("f", 25.0)];
    let expected = expected.map(|(start, sum)| (Bytes::from(start), sum));
    assert_eq!(whole(&history, &clock, 3), expected);
    assert_eq!(whole(&history, &clock, 1), [(Bytes::new(), 95.0)]);
}

#[test]
fn the_buckets_of_many_ranges_share_the_cells_of_a_slot() {
    let (history, clock) = (HeatHistory::new(), clock());
    let key = |range: u32, bucket: u32| Bytes::from(format!("{range:02}{bucket:02}"));
    let windows: Vec<Window> = (0..40)
        .map(|range| {
            let buckets = (0..50).map(|at| KeyBucket {
                start: key(range, at),
                end: Some(key(range, at + 1)),
                ..bucket("", None, u64::from(at))
            });
            bucketed(buckets.collect())
        })
        .collect();
    let ranges: Vec<RangeWindow<'_>> = (0..40)
        .zip(&windows)
        .map(|(range, window)| RangeWindow {
            bounds: Bounds {
                start: key(range, 0),
                end: Some(key(range + 1, 0)),
            },
            window,
        })
        .collect();
    for _ in 0..7 {
        history.record(clock.now(), &ranges);
        clock.advance(WINDOW);
    }
    history.with(|tiers| {
        for slot in tiers.all() {
            assert!(slot.cells().len() <= CELLS_MAX, "{}", slot.cells().len());
            // No bucket was joined with one of another range.
            for cell in slot.cells() {
                let range = |key: &Bytes| key[..2].to_vec();
                let end = cell.extent.end.as_ref().unwrap();
                assert!(range(&cell.extent.start) == range(end) || end.ends_with(b"00"));
            }
        }
    });
    let sum: f64 = rows(&history, &clock, 512).iter().map(|(_, sum)| sum).sum();
    let expected = f64::from(7 * 40 * (0..50).sum::<u32>());
    assert!((sum - expected).abs() < 1.0, "{sum} {expected}");
}
