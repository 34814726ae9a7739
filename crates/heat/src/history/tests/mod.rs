mod archive;
mod buckets;
mod of_servers;
mod partitions;

use super::slot::{CELLS_MAX, Slot};
use super::tiers::Tier;
use super::*;
use crate::{
    Access, CoarseLatency, Counts, Heat, Latency, PARTITIONS_MAX, PartitionWindow, Request,
};
use bytes::Bytes;
use partita_rt::{Clock, ManualClock};
use std::time::Instant;

const METRICS: [Metric; 6] = [
    Metric::Requests,
    Metric::Reads,
    Metric::Writes,
    Metric::RowsScanned,
    Metric::Bytes,
    Metric::Throttled,
];

/// A clock whose time is a multiple of five minutes.
fn clock() -> ManualClock {
    ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000))
}

fn value(metric: Metric, counts: &Counts) -> u64 {
    match metric {
        Metric::Requests => counts.requests(),
        Metric::Reads => counts.reads,
        Metric::Writes => counts.writes,
        Metric::RowsScanned => counts.rows_scanned,
        Metric::Bytes => counts.bytes_in + counts.bytes_out,
        Metric::Throttled => counts.throttled,
        Metric::P50Us | Metric::P99Us => unreachable!("not a sum"),
    }
}

/// A histogram of these latencies in microseconds.
fn latency(us: &[u64]) -> Latency {
    let heat = Heat::new(Instant::now());
    for &us in us {
        heat.record(&Request {
            partition: b"p",
            table_bytes: 0,
            access: Access::Read,
            rows: 1,
            bytes_in: 0,
            bytes_out: 0,
            latency: Duration::from_micros(us),
        });
    }
    heat.roll(Instant::now()).latency
}

fn window(counts: Counts, latency: Latency) -> Window {
    Window {
        elapsed: WINDOW,
        counts,
        latency,
        partitions: Vec::new(),
        buckets: Vec::new(),
    }
}

fn reads(reads: u64) -> Window {
    let counts = Counts {
        reads,
        ..Counts::default()
    };
    window(counts, Latency::new())
}

/// The window of a partition with `reads` reads of 100 µs each.
fn partition(name: impl Into<Bytes>, reads: u64) -> PartitionWindow {
    let counts = Counts {
        reads,
        ..Counts::default()
    };
    let mut latency = CoarseLatency::new();
    latency.add(100, u32::try_from(reads).unwrap());
    PartitionWindow {
        partition: name.into(),
        counts,
        latency,
    }
}

/// A simulated cluster with splits and merges.
struct World {
    clock: ManualClock,
    /// The start keys of the ranges; the first one is empty.
    starts: Vec<Bytes>,
    latencies: Vec<Latency>,
    seed: u64,
    /// The counts of each window.
    happened: Vec<Counts>,
    began: SystemTime,
}

impl World {
    fn new() -> Self {
        let clock = clock();
        Self {
            starts: vec![Bytes::new(), "g".into(), "n".into(), "t".into()],
            latencies: vec![
                latency(&[20, 40, 90]),
                latency(&[150; 40]),
                latency(&[30, 700, 90_000]),
                latency(&[]),
            ],
            seed: 7,
            happened: Vec::new(),
            began: clock.now(),
            clock,
        }
    }

    /// A random number below `end`.
    fn chance(&mut self, end: u64) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % end
    }

    /// Advances one window and records it, with an occasional split or merge.
    fn step(&mut self, histories: &[&HeatHistory]) {
        if self.chance(20) == 0 {
            self.change_map();
        }
        let mut windows = Vec::new();
        for _ in 0..self.starts.len() {
            windows.push(self.window());
        }
        let mut all = Counts::default();
        for window in &windows {
            all += window.counts;
        }
        self.happened.push(all);
        let ends = self.starts.iter().skip(1).cloned().map(Some).chain([None]);
        let ranges = self.starts.iter().cloned().zip(ends).zip(&windows);
        let ranges: Vec<RangeWindow<'_>> = ranges
            .map(|((start, end), window)| RangeWindow {
                bounds: Bounds { start, end },
                window,
            })
            .collect();
        self.clock.advance(WINDOW);
        for history in histories {
            history.record(self.clock.now(), &ranges);
        }
    }

    fn window(&mut self) -> Window {
        if self.chance(3) == 0 {
            return reads(0);
        }
        let counts = Counts {
            reads: self.chance(1_000),
            writes: self.chance(200),
            rows_scanned: self.chance(90_000),
            rows_written: self.chance(300),
            bytes_in: self.chance(1 << 20),
            bytes_out: self.chance(1 << 24),
            throttled: self.chance(3),
        };
        let at = self.chance(4) as usize;
        let mut window = window(counts, self.latencies[at].clone());
        for _ in 0..self.chance(3) {
            let name = format!("partition-{}", self.chance(60));
            let reads = self.chance(1_000);
            window.partitions.push(partition(name, reads));
        }
        window
    }

    fn change_map(&mut self) {
        let at = 1 + self.chance(self.starts.len() as u64 - 1) as usize;
        if self.starts.len() > 12 || (self.starts.len() > 3 && self.chance(2) == 0) {
            self.starts.remove(at);
        } else {
            let more = b'a' + self.chance(26) as u8;
            let key = [&self.starts[at][..], &[more]].concat().into();
            if let Err(at) = self.starts.binary_search(&key) {
                self.starts.insert(at, key);
            }
        }
    }

    /// The start time of window `index`.
    fn time(&self, index: usize) -> SystemTime {
        self.began + WINDOW * u32::try_from(index).unwrap()
    }

    fn total(&self, windows: std::ops::Range<usize>, metric: Metric) -> u64 {
        let windows = self.happened[windows].iter();
        windows.map(|counts| value(metric, counts)).sum()
    }

    /// Checks that the sums of a map of these windows equal the recorded counts.
    fn check_sums(&self, history: &HeatHistory, windows: std::ops::Range<usize>) {
        if windows.is_empty() {
            return;
        }
        for metric in METRICS {
            let shape = MapShape {
                metric,
                columns: 7,
                rows: 5,
            };
            let map = history.map(self.time(windows.start), self.time(windows.end), shape);
            assert!(map.rows.len() <= 5);
            let sum = sum(&map);
            let expected = self.total(windows.clone(), metric) as f64;
            assert!(
                (sum - expected).abs() <= expected * 1e-9,
                "{metric:?} {windows:?}: {sum} for {expected}"
            );
        }
    }
}

fn sum(map: &HeatMap) -> f64 {
    map.values.iter().flatten().flatten().sum()
}

impl HeatHistory {
    /// The map of all keys.
    fn map(&self, from: SystemTime, to: SystemTime, shape: MapShape) -> HeatMap {
        self.map_within(from, to, shape, &Bounds::all())
    }

    /// The memory of the history in bytes, without keys.
    fn memory_bytes(&self) -> usize {
        let of = |slot: &Slot| {
            let (cells, spots) = (slot.cells(), slot.spots());
            let busy = cells.iter().filter(|cell| cell.load.is_some()).count() + spots.len();
            let places = size_of_val(cells) + size_of_val(spots);
            size_of::<Slot>() + places + busy * size_of::<LoadSum>()
        };
        self.with(|tiers| tiers.all().map(of).sum())
    }
}

fn all_slots(history: &HeatHistory) -> [Vec<Slot>; 3] {
    history.with(|tiers| Tier::ALL.map(|tier| tiers.of(tier).iter().cloned().collect()))
}

/// The first window of each tier after `count` windows, aligned to minutes and to five minutes.
fn borders(count: usize) -> [usize; 3] {
    let [fine, medium, coarse] = [360, 2_160, 8_640].map(|kept| count.saturating_sub(kept));
    [fine - fine % 6, medium - medium % 30, coarse - coarse % 30]
}

#[test]
fn sums_do_not_change_when_slots_become_coarser() {
    let (mut world, history) = (World::new(), HeatHistory::new());
    let mut most_slots = 0;
    for count in 1..=9_500 {
        world.step(&[&history]);
        most_slots = most_slots.max(history.slots());
        if count % 2_377 == 0 || count == 9_500 {
            let [fine, medium, coarse] = borders(count);
            world.check_sums(&history, fine..count);
            world.check_sums(&history, fine + (count - fine) / 2..count);
            world.check_sums(&history, medium..count);
            world.check_sums(&history, coarse..count);
            world.check_sums(&history, coarse..medium);
            // Older load is dropped.
            let everything = history.map(world.time(0), world.clock.now(), shape(Metric::Bytes));
            let kept = world.total(coarse..count, Metric::Bytes) as f64;
            assert!((sum(&everything) - kept).abs() <= kept * 1e-9);
        }
    }
    assert_eq!(borders(9_500), [9_138, 7_320, 840]);
    let lengths = all_slots(&history).map(|slots| slots.len());
    assert_eq!(lengths, [362, 303, 216]);
    assert_eq!(history.slots(), 881);
    assert_eq!(most_slots, 885);
    let most = all_slots(&history).concat();
    let most = most.iter().map(|slot| slot.cells().len()).max().unwrap();
    assert!((10..=CELLS_MAX).contains(&most), "{most}");
}

fn shape(metric: Metric) -> MapShape {
    MapShape {
        metric,
        columns: 24,
        rows: 20,
    }
}

/// Records a window of the range of all keys.
fn record_everywhere(history: &HeatHistory, clock: &ManualClock, window: &Window) {
    let range = RangeWindow {
        bounds: Bounds {
            start: Bytes::new(),
            end: None,
        },
        window,
    };
    history.record(clock.now(), &[range]);
}

#[test]
fn a_clock_set_back_loses_nothing() {
    let clock = clock();
    let history = HeatHistory::new();
    let start = clock.now();
    let one = reads(1);
    let record = || record_everywhere(&history, &clock, &one);
    let total = || {
        let day = Duration::from_secs(86_400);
        sum(&history.map(start - day, start + 2 * day, shape(Metric::Reads))).round() as u64
    };
    for _ in 0..100 {
        clock.advance(WINDOW);
        record();
    }
    clock.set_wall(start);
    for _ in 0..100 {
        clock.advance(WINDOW);
        record();
    }
    assert_eq!((total(), history.slots()), (200, 100));
    // A clock set a year ahead makes all other slots too old. When the clock is set back, the future slots are dropped.
    // Otherwise no new slots would be visible for a year.
    clock.set_wall(start + Duration::from_secs(31_536_000));
    record();
    assert_eq!((total(), history.slots()), (0, 1));
    clock.set_wall(start);
    clock.advance(WINDOW);
    record();
    assert_eq!((total(), history.slots()), (1, 1));
}

#[test]
fn ranges_above_the_cell_limit_are_joined() {
    let history = HeatHistory::new();
    let clock = clock();
    let start = clock.now();
    clock.advance(WINDOW);
    let key = |number: u32| Bytes::from(format!("{number:04}"));
    let windows: Vec<Window> = (0..1_000)
        .map(|number| reads(if number % 100 == 50 { 1_000 } else { 1 }))
        .collect();
    let ranges = (0_u32..).zip(&windows).map(|(number, window)| RangeWindow {
        bounds: Bounds {
            start: key(number),
            end: (number < 999).then(|| key(number + 1)),
        },
        window,
    });
    history.record(clock.now(), &ranges.collect::<Vec<_>>());
    assert_eq!(all_slots(&history)[0][0].cells().len(), CELLS_MAX);
    let shape = MapShape {
        metric: Metric::Reads,
        columns: 1,
        rows: 500,
    };
    let map = history.map(start, clock.now(), shape);
    assert!((sum(&map) - 10_990.0).abs() < 1e-6);
    // Hot ranges are not joined with others.
    let hot = map
        .values
        .iter()
        .filter(|row| row[0] == Some(1_000.0))
        .count();
    assert_eq!(hot, 10);
}

#[test]
fn a_map_shows_load_by_key_and_time() {
    let history = HeatHistory::new();
    let clock = clock();
    let start = clock.now();
    let record = |ranges: &[(&'static str, Option<&'static str>, u64)]| {
        clock.advance(WINDOW);
        let windows: Vec<Window> = ranges.iter().map(|(_, _, count)| reads(*count)).collect();
        let ranges = ranges.iter().zip(&windows);
        let ranges: Vec<RangeWindow<'_>> = ranges
            .map(|((start, end, _), window)| RangeWindow {
                bounds: Bounds {
                    start: Bytes::from(*start),
                    end: end.map(Bytes::from),
                },
                window,
            })
            .collect();
        history.record(clock.now(), &ranges);
    };
    record(&[("", Some("m"), 100), ("m", None, 8)]);
    record(&[("", Some("g"), 70), ("g", Some("m"), 30), ("m", None, 0)]);
    clock.advance(WINDOW);
    record(&[("", None, 30)]);
    let map = |columns, rows| {
        let shape = MapShape {
            metric: Metric::Reads,
            columns,
            rows,
        };
        history.map(start, start + 4 * WINDOW, shape)
    };
    let fine = map(4, 10);
    let keys: Vec<(&[u8], Option<&[u8]>)> = fine
        .rows
        .iter()
        .map(|row| (&row.start[..], row.end.as_deref()))
        .collect();
    let expected: [(&[u8], Option<&[u8]>); 3] =
        [(b"", Some(b"g")), (b"g", Some(b"m")), (b"m", None)];
    assert_eq!(keys, expected);
    let expected = [
        vec![Some(50.0), Some(70.0), None, Some(10.0)],
        vec![Some(50.0), Some(30.0), None, Some(10.0)],
        vec![Some(8.0), Some(0.0), None, Some(10.0)],
    ];
    assert_eq!(fine.values, expected);
    // Joined to two rows: the range with a load of 130, and the other two with 108 together.
    let coarse = map(2, 2);
    let expected = [vec![Some(120.0), Some(10.0)], vec![Some(88.0), Some(20.0)]];
    assert_eq!(coarse.values, expected);
    let first = Bounds {
        start: Bytes::new(),
        end: Some(Bytes::from_static(b"g")),
    };
    assert_eq!(coarse.rows[0], first);
    assert_eq!(coarse.rows[1].end, None);
    // Another day has no data.
    let day = Duration::from_secs(86_400);
    let other = history.map(start - day, start - day / 2, shape(Metric::Reads));
    assert_eq!((other.rows.len(), sum(&other)), (0, 0.0));
}

#[test]
fn a_map_of_a_key_range_shows_the_overlapping_ranges() {
    let history = HeatHistory::new();
    let clock = clock();
    let start = clock.now();
    let windows = [reads(1), reads(20), reads(300), reads(4_000)];
    let starts = ["", "g", "n", "t"];
    let ranges: Vec<RangeWindow<'_>> = (0..4)
        .map(|at| RangeWindow {
            bounds: Bounds {
                start: starts[at].into(),
                end: starts.get(at + 1).map(|end| Bytes::from(*end)),
            },
            window: &windows[at],
        })
        .collect();
    clock.advance(WINDOW);
    history.record(clock.now(), &ranges);
    let within = |keys: (&'static str, Option<&'static str>), rows| {
        let shape = MapShape {
            metric: Metric::Reads,
            columns: 1,
            rows,
        };
        let keys = Bounds {
            start: keys.0.into(),
            end: keys.1.map(Bytes::from),
        };
        let map = history.map_within(start, clock.now(), shape, &keys);
        let values = map.values.iter().map(|row| row[0].unwrap());
        values.collect::<Vec<f64>>()
    };
    assert_eq!(within(("g", Some("n")), 9), [20.0]);
    assert_eq!(within(("h", Some("o")), 9), [20.0, 300.0]);
    assert_eq!(within(("h", Some("o")), 1), [320.0]);
    assert_eq!(within(("z", None), 9), [4_000.0]);
    assert_eq!(within(("", None), 9), [1.0, 20.0, 300.0, 4_000.0]);
    assert_eq!(within(("a", Some("b")), 9), [1.0]);
}

#[test]
fn percentiles_cover_several_windows_and_ranges() {
    let history = HeatHistory::new();
    let clock = clock();
    let start = clock.now();
    // 98 % of the requests take 100 µs, in one range; the others take 50 ms, in two other ranges.
    let counts = |reads| Counts {
        reads,
        ..Counts::default()
    };
    let quick = window(counts(980), latency(&[100; 980]));
    let slow = window(counts(10), latency(&[50_000; 10]));
    for _ in 0..500 {
        clock.advance(WINDOW);
        let windows = [
            ("", Some("a"), &quick),
            ("a", Some("b"), &slow),
            ("b", None, &slow),
        ];
        let ranges = windows.map(|(start, end, window)| RangeWindow {
            bounds: Bounds {
                start: start.into(),
                end: end.map(Bytes::from),
            },
            window,
        });
        history.record(clock.now(), &ranges);
    }
    let read = |metric, rows| {
        let shape = MapShape {
            metric,
            columns: 1,
            rows,
        };
        let map = history.map(start, clock.now(), shape);
        map.values
            .iter()
            .map(|row| row[0].unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(read(Metric::P50Us, 1), [112.0]);
    assert_eq!(read(Metric::P99Us, 1), [57_344.0]);
    assert_eq!(read(Metric::P99Us, 3), [112.0, 57_344.0, 57_344.0]);
}

#[test]
fn windows_end_at_full_tens_of_seconds() {
    let at = |ms| until_next_window(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)).as_millis();
    assert_eq!(
        (at(0), at(1), at(9_999), at(25_000)),
        (10_000, 9_999, 1, 5_000)
    );
}
