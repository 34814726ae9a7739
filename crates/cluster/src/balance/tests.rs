use super::*;
use partita_heat::{Counts, Latency, Window};

const ROUND: Duration = Duration::from_secs(10);

/// A simulated key space of 100 equal pieces. Its ranges are split and merged as the balancer decides.
struct World {
    balancer: Balancer,
    now: Instant,
    /// The first piece and the id of each range.
    ranges: Vec<(usize, RangeId)>,
    next: u64,
    actions: Vec<BalanceAction>,
    /// The processor seconds that a request costs.
    cost: f64,
    /// The rows that a request reads.
    rows: u64,
    /// The number of processors busy with background work.
    background: f64,
}

const PIECES: usize = 100;

impl World {
    fn new() -> Self {
        Self {
            balancer: Balancer::new(BalanceSettings {
                by_load: true,
                ..BalanceSettings::default()
            }),
            now: Instant::now(),
            ranges: vec![(0, RangeId(1))],
            next: 2,
            actions: Vec::new(),
            cost: 0.0,
            rows: 1,
            background: 0.0,
        }
    }

    /// The heat window of a range with `rate` requests per second.
    fn window(&self, rate: f64) -> Window {
        let reads = (rate * ROUND.as_secs_f64()) as u64;
        Window {
            elapsed: ROUND,
            counts: Counts {
                reads,
                rows_scanned: reads * self.rows,
                ..Counts::default()
            },
            latency: Latency::new(),
            partitions: Vec::new(),
            buckets: Vec::new(),
        }
    }

    /// Runs one round with these requests per second and bytes of each piece.
    fn round(&mut self, rates: &[f64; PIECES], bytes: &[u64; PIECES]) {
        self.now += ROUND;
        let ends = self
            .ranges
            .iter()
            .skip(1)
            .map(|(start, _)| *start)
            .chain([PIECES]);
        let spans: Vec<(usize, usize, RangeId)> = self
            .ranges
            .iter()
            .zip(ends)
            .map(|((start, id), end)| (*start, end, *id))
            .collect();
        let all = self.window(rates.iter().sum()).counts.load();
        let busy = rates.iter().sum::<f64>() * self.cost + self.background;
        let observed: Vec<Observed> = spans
            .iter()
            .map(|&(start, end, id)| {
                let rate: f64 = rates[start..end].iter().sum();
                Observed {
                    id,
                    bytes: bytes[start..end].iter().sum(),
                    rate,
                    cores: cores(
                        &self.window(rate).counts,
                        self.window(rate).elapsed,
                        all,
                        busy,
                    ),
                    split_point: split_point(&rates[start..end], start),
                    detaching: false,
                }
            })
            .collect();
        let Some(action) = self.balancer.decide(self.now, &observed, 1) else {
            return;
        };
        let span = |id: RangeId| *spans.iter().find(|span| span.2 == id).unwrap();
        match &action {
            BalanceAction::SplitByLoad(id, at) => self.split(span(*id).0, usize::from(at[0])),
            BalanceAction::SplitBySize(id) => {
                let (start, end, _) = span(*id);
                self.split(start, usize::midpoint(start, end));
            }
            BalanceAction::Merge(left, right) => {
                let start = span(*left).0;
                self.ranges.retain(|(_, id)| id != left && id != right);
                self.add(start);
            }
        }
        self.actions.push(action);
    }

    fn split(&mut self, start: usize, at: usize) {
        self.ranges.retain(|(first, _)| *first != start);
        self.add(start);
        self.add(at);
    }

    fn add(&mut self, start: usize) {
        self.ranges.push((start, RangeId(self.next)));
        self.next += 1;
        self.ranges.sort_unstable_by_key(|(start, _)| *start);
    }

    fn hours(&mut self, hours: u32, mut rates: impl FnMut(u32) -> [f64; PIECES]) {
        for round in 0..hours * 360 {
            self.round(&rates(round), &[0; PIECES]);
        }
    }
}

/// The split point that divides the load best, if two rounds give at least 256 samples. `start` is the first piece.
fn split_point(rates: &[f64], start: usize) -> SplitPoint {
    let total: f64 = rates.iter().sum();
    if total * 2.0 * ROUND.as_secs_f64() < 256.0 {
        return SplitPoint::Unknown;
    }
    let best = (1..rates.len()).min_by(|a, b| {
        let off = |at: usize| (rates[..at].iter().sum::<f64>() - total / 2.0).abs();
        off(*a).total_cmp(&off(*b))
    });
    let left = |at: usize| rates[..at].iter().sum::<f64>();
    match best {
        Some(at) if left(at) > total / 4.0 && left(at) < total * 0.75 => {
            SplitPoint::At(Bytes::from(vec![(start + at) as u8]))
        }
        _ => SplitPoint::None,
    }
}

fn even(total: f64) -> [f64; PIECES] {
    [total / PIECES as f64; PIECES]
}

fn one_hot(rate: f64) -> [f64; PIECES] {
    std::array::from_fn(|piece| if piece == 7 { rate } else { 0.0 })
}

#[test]
fn a_load_around_the_split_trigger_for_days_causes_one_split() {
    let mut world = World::new();
    world.hours(48, |round| {
        even(if round / 3 % 2 == 0 { 4_500.0 } else { 5_500.0 })
    });
    assert_eq!(world.actions.len(), 1, "{:?}", world.actions);
    assert!(matches!(world.actions[0], BalanceAction::SplitByLoad(..)));
}

#[test]
fn a_load_around_the_merge_trigger_causes_no_change() {
    let mut world = World::new();
    world.hours(1, |_| even(6_000.0));
    assert_eq!(world.ranges.len(), 2);
    let before = world.actions.len();
    // For half an hour each of the two ranges is below a quarter of the trigger, and for the next above it.
    world.hours(24, |round| {
        even(if round / 180 % 2 == 0 {
            2_000.0
        } else {
            3_000.0
        })
    });
    assert_eq!(world.actions.len(), before, "{:?}", world.actions);
}

#[test]
fn day_and_night_loads_cause_few_changes() {
    let mut world = World::new();
    let days = 5;
    world.hours(24 * days, |round| {
        even(if round / (360 * 12) % 2 == 0 {
            12_000.0
        } else {
            100.0
        })
    });
    // Three splits in the morning, three merges at night.
    assert!(
        world.actions.len() <= 6 * days as usize,
        "{}",
        world.actions.len()
    );
    assert!(
        world
            .actions
            .iter()
            .any(|action| matches!(action, BalanceAction::Merge(..)))
    );
}

/// Requests for pages of 1,000 rows, 5 ms each.
#[test]
fn few_expensive_requests_are_split_by_processor_time() {
    let mut world = World::new();
    (world.cost, world.rows) = (0.005, 1_000);
    world.hours(1, |_| even(300.0));
    assert_eq!(world.ranges.len(), 4, "{:?}", world.actions);
    let splits = world.actions.len();
    // A third of the processor time is too much for a merge, even with few requests.
    world.hours(24, |_| even(100.0));
    assert_eq!(world.actions.len(), splits, "{:?}", world.actions);
    world.hours(2, |_| even(10.0));
    assert!(world.actions.len() > splits);
}

/// A compaction, a backup or a sweep uses a processor for hours while the ranges have few requests.
#[test]
fn background_work_does_not_make_a_range_hot() {
    for rate in [0.1, 1.0, 15.0, 500.0] {
        let mut world = World::new();
        world.cost = 0.000_05;
        world.background = 0.9;
        world.hours(3, |_| even(rate));
        assert_eq!(world.actions, [], "{rate} a second");
        assert_eq!(world.balancer.no_split_key(), 0, "{rate} a second");
    }
}

#[test]
fn cold_neighbours_are_merged_during_background_work() {
    let mut world = World::new();
    world.cost = 0.000_05;
    world.hours(1, |_| even(6_000.0));
    assert_eq!(world.ranges.len(), 2, "{:?}", world.actions);
    world.background = 0.9;
    world.hours(2, |_| even(20.0));
    assert_eq!(world.ranges.len(), 1, "{:?}", world.actions);
}

/// With few, expensive requests there are too few samples to conclude that no split key exists.
#[test]
fn a_hot_range_with_too_few_samples_is_not_counted() {
    let mut world = World::new();
    (world.cost, world.rows) = (0.2, 100_000);
    world.hours(1, |_| even(5.0));
    assert_eq!(world.actions, []);
    assert_eq!(world.balancer.no_split_key(), 0);
    world.hours(1, |_| one_hot(50.0));
    assert_eq!(world.balancer.no_split_key(), 1);
}

#[test]
fn short_peaks_cause_no_split() {
    let mut world = World::new();
    world.hours(24, |round| {
        even(if round % 3 == 0 { 50_000.0 } else { 10.0 })
    });
    assert_eq!(world.actions, []);
}

#[test]
fn a_single_hot_partition_is_counted_but_not_split() {
    let mut world = World::new();
    let mut rates = even(100.0);
    rates[40] = 20_000.0;
    world.hours(2, |_| rates);
    assert_eq!(world.actions, []);
    assert_eq!(world.balancer.no_split_key(), 1);
}

#[test]
fn a_large_range_is_split_by_size_until_its_parts_are_small_enough() {
    let mut world = World::new();
    let bytes = [1 << 30; PIECES];
    for _ in 0..100 {
        world.round(&even(10.0), &bytes);
    }
    assert_eq!(world.ranges.len(), 16, "{:?}", world.ranges);
    assert!(
        world
            .actions
            .iter()
            .all(|action| matches!(action, BalanceAction::SplitBySize(_)))
    );
}

#[test]
fn detaching_ranges_and_the_range_limit_prevent_splits() {
    let settings = BalanceSettings {
        ranges_max: 1,
        ..BalanceSettings::default()
    };
    let now = Instant::now();
    let mut range = Observed {
        id: RangeId(1),
        bytes: u64::MAX,
        rate: 0.0,
        cores: 0.0,
        split_point: SplitPoint::Unknown,
        detaching: true,
    };
    let mut balancer = Balancer::new(BalanceSettings::default());
    assert_eq!(balancer.decide(now, std::slice::from_ref(&range), 1), None);
    range.detaching = false;
    let mut full = Balancer::new(settings);
    assert_eq!(full.decide(now, std::slice::from_ref(&range), 1), None);
    let two_servers = full.decide(now, std::slice::from_ref(&range), 2);
    assert_eq!(two_servers, Some(BalanceAction::SplitBySize(RangeId(1))));
    let split = balancer.decide(now, &[range], 1);
    assert_eq!(split, Some(BalanceAction::SplitBySize(RangeId(1))));
}

#[test]
fn without_splits_by_load_a_hot_partition_is_still_counted() {
    let mut world = World::new();
    world.balancer = Balancer::new(BalanceSettings::default());
    world.hours(2, |_| even(20_000.0));
    assert_eq!(world.actions, []);
    assert_eq!(world.balancer.no_split_key(), 0);
    world.hours(2, |_| one_hot(20_000.0));
    assert_eq!(world.actions, []);
    // The range stayed hot all the time, so it is counted only once.
    assert_eq!(world.balancer.no_split_key(), 1);
}

#[test]
fn a_range_that_cannot_be_split_does_not_block_other_ranges() {
    let settings = BalanceSettings::default();
    let mut balancer = Balancer::new(settings);
    let ranges = [1, 2].map(|id| Observed {
        id: RangeId(id),
        bytes: settings.split_bytes + 1,
        rate: 0.0,
        cores: 0.0,
        split_point: SplitPoint::Unknown,
        detaching: false,
    });
    let [first, second] = [1, 2].map(|id| BalanceAction::SplitBySize(RangeId(id)));
    let mut now = Instant::now();
    assert_eq!(balancer.decide(now, &ranges, 1), Some(first.clone()));
    balancer.note_failed(now, &first, true);
    now += ROUND;
    assert_eq!(balancer.decide(now, &ranges, 1), Some(second.clone()));
    balancer.note_failed(now, &second, false);
    now += ROUND;
    assert_eq!(balancer.decide(now, &ranges, 1), None);
    now += settings.cool_down;
    assert_eq!(balancer.decide(now, &ranges, 1), Some(second.clone()));
    balancer.note_failed(now, &second, false);
    now += NO_SPLIT_KEY_PAUSE;
    assert_eq!(balancer.decide(now, &ranges, 1), Some(first));
    assert_eq!(balancer.no_split_key(), 1);
}
