//! Histories of several servers, drawn as one.

use super::*;
use crate::history::Segment;
use proptest::prelude::*;

const COLUMNS: usize = 6;

/// Three servers; the third has every range, as a server that is alone.
struct Servers {
    clock: ManualClock,
    parts: [HeatHistory; 2],
    alone: HeatHistory,
}

impl Servers {
    fn new() -> Self {
        Self {
            clock: clock(),
            parts: [HeatHistory::new(), HeatHistory::new()],
            alone: HeatHistory::new(),
        }
    }

    /// Records a window. Of each range: its bounds, its server, and its window.
    fn record(&self, ranges: &[(Bounds, usize, Window)]) {
        self.clock.advance(WINDOW);
        let now = self.clock.now();
        let of = |keep: &dyn Fn(usize) -> bool| -> Vec<RangeWindow<'_>> {
            let kept = ranges.iter().filter(|(_, server, _)| keep(*server));
            kept.map(|(bounds, _, window)| RangeWindow {
                bounds: bounds.clone(),
                window,
            })
            .collect()
        };
        for (number, part) in self.parts.iter().enumerate() {
            part.record(now, &of(&|server| server == number));
        }
        self.alone.record(now, &of(&|_| true));
    }

    fn time(&self) -> (SystemTime, SystemTime) {
        let to = self.clock.now();
        let whole = WINDOW * u32::try_from(COLUMNS).unwrap();
        (to.checked_sub(whole).unwrap(), to)
    }

    /// The histories of the others, as the first server gets them.
    fn sent(&self) -> Vec<HeatHistory> {
        let (from, to) = self.time();
        let [_, second] = &self.parts;
        vec![HeatHistory::of_segments(&second.segments(from, to)).unwrap()]
    }
}

fn shape(metric: Metric) -> MapShape {
    MapShape {
        metric,
        columns: COLUMNS,
        rows: 64,
    }
}

fn bounds(start: &'static str, end: Option<&'static str>) -> Bounds {
    Bounds {
        start: start.into(),
        end: end.map(Bytes::from),
    }
}

fn at(latencies: &[u64]) -> Window {
    let counts = Counts {
        reads: latencies.len() as u64,
        ..Counts::default()
    };
    window(counts, latency(latencies))
}

/// The load of a range is added to that of the same keys at another server, and a percentile is that of all requests,
/// not a mean of percentiles.
#[test]
fn the_map_of_all_servers_is_that_of_one_with_all_ranges() {
    let servers = Servers::new();
    let fast = || at(&[10; 99]);
    servers.record(&[
        (bounds("", Some("m")), 0, fast()),
        (bounds("m", None), 1, at(&[90_000; 3])),
    ]);
    // The first range moves, and the second is merged into it.
    servers.record(&[
        (bounds("", Some("m")), 1, at(&[90_000; 7])),
        (bounds("m", None), 1, at(&[])),
    ]);
    servers.record(&[(bounds("", None), 0, fast())]);
    let [first, _] = &servers.parts;
    for metric in [
        Metric::Requests,
        Metric::Reads,
        Metric::P50Us,
        Metric::P99Us,
    ] {
        let shape = shape(metric);
        let all = first.map_with(&servers.sent(), servers.time(), shape, &Bounds::all());
        let (from, to) = servers.time();
        let alone = servers.alone.map_within(from, to, shape, &Bounds::all());
        assert_eq!(all, alone, "{metric:?}");
        assert!(all.values.iter().flatten().any(Option::is_some));
    }
}

#[test]
fn partitions_of_all_servers_are_in_one_order() {
    let servers = Servers::new();
    let hot = |name: &'static str, reads: u64| Window {
        partitions: vec![partition(name, reads)],
        ..at(&[10])
    };
    servers.record(&[
        (bounds("", Some("m")), 0, hot("a", 5)),
        (bounds("m", None), 1, hot("z", 9)),
    ]);
    let [first, _] = &servers.parts;
    let shape = shape(Metric::Reads);
    let rows = first.partitions_with(&servers.sent(), servers.time(), shape, &Bounds::all());
    let names: Vec<_> = rows.iter().map(|row| row.partition.clone()).collect();
    assert_eq!(names, ["z", "a"]);
}

#[test]
fn what_no_server_sends_is_refused() {
    let segment = |name: &str, content: &[u8]| Segment {
        name: name.to_owned(),
        content: content.to_vec(),
    };
    for wrong in [
        segment("x", b""),
        segment("0000000000-0000000001-1", b"junk"),
    ] {
        assert!(HeatHistory::of_segments(&[wrong]).is_err());
    }
    assert!(
        HeatHistory::new()
            .segments(clock().now(), clock().now())
            .is_empty()
    );
}

proptest! {
    /// Whichever server has a range, the map has its load.
    #[test]
    fn no_load_is_lost(owners in proptest::collection::vec((0..2_usize, 0..2_usize, 0..50_u64), 1..5)) {
        let servers = Servers::new();
        for (left, right, count) in owners {
            servers.record(&[
                (bounds("", Some("m")), left, reads(count)),
                (bounds("m", None), right, reads(2 * count)),
            ]);
        }
        let [first, _] = &servers.parts;
        let shape = shape(Metric::Reads);
        let all = first.map_with(&servers.sent(), servers.time(), shape, &Bounds::all());
        let (from, to) = servers.time();
        prop_assert_eq!(all, servers.alone.map_within(from, to, shape, &Bounds::all()));
    }
}
