use super::*;
use proptest::prelude::*;

/// The exact values that the sketch estimates: every load, halved with every window.
#[derive(Default)]
struct Exact {
    loads: HashMap<Vec<u8>, u64>,
    total: u64,
}

impl Exact {
    fn add(&mut self, key: &[u8], load: u64) {
        *self.loads.entry(key.to_vec()).or_default() += load;
        self.total += load;
    }

    fn fade(&mut self) {
        self.total /= 2;
        for load in self.loads.values_mut() {
            *load /= 2;
        }
    }
}

/// Streams of partition numbers.
#[derive(Clone, Copy, Debug)]
enum Stream {
    Uniform,
    Zipf,
    /// All partitions in turn, repeatedly: every arrival evicts a partition that returns later.
    RoundRobin,
    /// A heavy partition that starts only when the sketch is full.
    LateHeavy,
}

impl Stream {
    /// The partition at position `at` of `length`, from a uniform random number.
    fn partition(self, at: usize, length: usize, chance: f64) -> u64 {
        const PARTITIONS: f64 = 3_000.0;
        match self {
            Self::Uniform => (chance * PARTITIONS) as u64,
            Self::Zipf => PARTITIONS.powf(chance) as u64,
            Self::RoundRobin => at as u64 % 500,
            Self::LateHeavy if at > length / 2 && at.is_multiple_of(3) => 1_000_000,
            Self::LateHeavy => at as u64,
        }
    }
}

fn key(partition: u64) -> Vec<u8> {
    format!("table\0partition-{partition}\0").into_bytes()
}

fn check(sketch: &TopPartitions, exact: &Exact) {
    assert_eq!(sketch.total, exact.total);
    let mut counted = 0;
    for hot in sketch.top(usize::MAX) {
        let load = exact.loads.get(&hot.partition[..]).copied().unwrap_or(0);
        assert!(hot.load - hot.error <= load && load <= hot.load, "{hot:?}");
        // Halving rounds errors up and the floor down, so they differ by at most one.
        assert!(hot.error <= sketch.floor + 1, "{hot:?}");
        counted += 1;
    }
    assert!(counted <= COUNTERS);
    for (key, &load) in &exact.loads {
        if !sketch.index.contains_key(key.as_slice()) {
            assert!(load <= sketch.floor, "{load} > {}", sketch.floor);
        }
    }
    assert!(sketch.floor <= exact.total / COUNTERS as u64);
}

fn streams() -> impl Strategy<Value = Stream> {
    prop_oneof![
        Just(Stream::Uniform),
        Just(Stream::Zipf),
        Just(Stream::RoundRobin),
        Just(Stream::LateHeavy)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn bounds_hold_on_every_stream(
        stream in streams(),
        chances in prop::collection::vec((0.0..1.0_f64, 1_u64..40), 1..3_000),
        window in 100_usize..4_000,
    ) {
        let (mut sketch, mut exact) = (TopPartitions::default(), Exact::default());
        for (at, &(chance, load)) in chances.iter().enumerate() {
            let key = key(stream.partition(at, chances.len(), chance));
            sketch.add(&key, load, Activity::default(), None);
            exact.add(&key, load);
            if at % window == window - 1 {
                check(&sketch, &exact);
                sketch.fade(0);
                exact.fade();
            }
        }
        check(&sketch, &exact);
    }
}

#[test]
fn few_partitions_are_counted_exactly() {
    let mut sketch = TopPartitions::default();
    for at in 0..10_000_u64 {
        let activity = Activity {
            reads: 1.0,
            ..Activity::default()
        };
        sketch.add(&key(at % 10 * (at % 2)), 3, activity, None);
    }
    let top = sketch.top(3);
    assert_eq!(top.len(), 3);
    assert_eq!((top[0].load, top[0].error), (15_000, 0));
    assert_eq!(top[0].partition, key(0));
    assert!((top[0].share - 0.5).abs() < 1e-9);
    assert_eq!(top[0].last, Activity::default());
    sketch.fade(0);
    let top = sketch.top(1);
    assert_eq!(top[0].load, 7_500);
    assert!((top[0].last.reads - 5_000.0).abs() < 1e-9);
    for _ in 0..20 {
        sketch.fade(0);
    }
    assert_eq!((sketch.top(1), sketch.total), (Vec::new(), 0));
}

#[test]
fn long_keys_reduce_counters_but_bounds_hold() {
    let (mut sketch, mut exact) = (TopPartitions::default(), Exact::default());
    for at in 0..3_000_u64 {
        let key = [key(at * at % 97), vec![b'x'; (at % 4) as usize * 800]].concat();
        sketch.add(&key, 1, Activity::default(), None);
        exact.add(&key, 1);
        assert!(sketch.key_bytes <= KEY_BYTES_MAX);
    }
    for hot in sketch.top(usize::MAX) {
        let load = exact.loads[&hot.partition[..]];
        assert!(hot.load - hot.error <= load && load <= hot.load);
    }
    let absent = |key: &&Vec<u8>| !sketch.index.contains_key(key.as_slice());
    assert!(
        exact
            .loads
            .keys()
            .filter(absent)
            .all(|key| exact.loads[key] <= sketch.floor)
    );
}

#[test]
fn memory_is_bounded_for_many_partitions() {
    let mut sketch = TopPartitions::default();
    let padding = [b'x'; 1_500];
    for at in 0..200_000_u64 {
        let long = usize::from(at % 1_000 == 0) * padding.len() + at as usize % 90;
        let key = [key(at), padding[..long.min(padding.len())].to_vec()].concat();
        sketch.add(&key, 17, Activity::default(), None);
        if at % 50_000 == 0 {
            sketch.fade(0);
        }
    }
    assert!(sketch.entries.len() > COUNTERS / 2);
    assert!(sketch.bytes() <= 120 << 10, "{} bytes", sketch.bytes());
}
