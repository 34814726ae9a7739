//! A simulated cluster: its ranges are split and merged by the balancer and moved by the placer.

mod load;

use super::super::*;
use crate::{BalanceAction, BalanceSettings, Balancer, Observed, SplitPoint};
use bytes::Bytes;
use std::time::Duration;

use load::{Load, Random};

/// What is simulated.
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) servers: usize,
    pub(super) ranges: usize,
    /// The processors that the ranges use on average.
    pub(super) cores: f64,
    pub(super) hot_spots: usize,
    /// The time between two rounds.
    pub(super) step: Duration,
}

/// A range of the simulated map.
struct Range {
    start: usize,
    id: RangeId,
    owner: Option<Arc<str>>,
    /// The seconds in which it was moved, without placements.
    moved: Vec<u64>,
}

/// What happened.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) splits: usize,
    pub(super) merges: usize,
    pub(super) moves: usize,
    pub(super) by_count: usize,
    /// The most moves of a range within an hour.
    pub(super) most_moves: usize,
    /// The load of the busiest server divided by the mean, of each round with much load.
    pub(super) ratios: Vec<f64>,
    /// The rounds in a row in which it was above [`RATIO`], and the longest such row.
    uneven: usize,
    pub(super) longest_uneven: usize,
}

impl Figures {
    /// The ratio that this part of the rounds does not exceed.
    pub(super) fn ratio(&self, part: f64) -> f64 {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * part) as usize]
    }
}

/// The pieces of a range at the beginning.
const PIECES: usize = 4;
/// The load of the busiest server, divided by the mean, that a new hot spot may exceed only for a short time.
const RATIO: f64 = 1.5;
/// Below this mean load, the differences between servers are too small to matter.
const BUSY_MEAN: f64 = 0.6;
/// The requests a second of one processor.
const RATE: f64 = 10_000.0;

pub(super) struct Simulation {
    load: Load,
    step: Duration,
    began: Instant,
    time: Duration,
    balancer: Balancer,
    placer: Placer,
    pub(super) servers: Vec<ServerView>,
    ranges: Vec<Range>,
    next: u64,
    pub(super) figures: Figures,
}

impl Simulation {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let random = Random::new(scenario.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let pieces = scenario.ranges * PIECES;
        let mut simulation = Self {
            load: Load::new(random, pieces, scenario.cores, scenario.hot_spots),
            step: scenario.step,
            began: Instant::now(),
            time: Duration::ZERO,
            balancer: Balancer::new(BalanceSettings {
                by_load: true,
                hot_for: Duration::from_secs(4),
                ..BalanceSettings::default()
            }),
            placer: Placer::new(PlacementSettings::default()),
            servers: Vec::new(),
            ranges: Vec::new(),
            next: 1,
            figures: Figures::default(),
        };
        simulation.servers = (0..scenario.servers).map(server).collect();
        for range in 0..scenario.ranges {
            simulation.add(range * PIECES, None);
        }
        simulation
    }

    pub(super) fn run(&mut self, time: Duration) {
        let until = self.time + time;
        while self.time < until {
            self.round();
        }
    }

    pub(super) fn round(&mut self) {
        self.load.advance(self.time);
        let now = self.began + self.time;
        let observed = self.observed();
        let decided = self.balancer.decide(now, &observed, self.servers.len());
        let cores: Vec<f64> = observed.iter().map(|range| range.cores).collect();
        self.place(now, &cores);
        self.move_ranges(now, &cores);
        self.measure(&cores);
        if let Some(action) = decided {
            self.change(&action);
        }
        self.time += self.step;
    }

    fn views(&self, cores: &[f64]) -> Vec<RangeView> {
        let ranges = self.ranges.iter().zip(cores);
        let view = |(range, cores): (&Range, &f64)| RangeView {
            id: range.id,
            owner: range.owner.clone(),
            cores: Some(*cores),
            changing: false,
        };
        ranges.map(view).collect()
    }

    fn place(&mut self, now: Instant, cores: &[f64]) {
        let views = self.views(cores);
        for (id, to) in self.placer.place(now, &self.servers, &views) {
            self.range(id).owner = Some(to);
        }
        assert!(self.ranges.iter().all(|range| range.owner.is_some()));
    }

    fn move_ranges(&mut self, now: Instant, cores: &[f64]) {
        let views = self.views(cores);
        let moves = self.placer.balance(now, &self.servers, &views);
        for decided in &moves {
            let second = self.time.as_secs();
            let range = self.range(decided.range);
            assert_eq!(range.owner.as_ref(), Some(&decided.from));
            range.owner = Some(Arc::clone(&decided.to));
            range.moved.retain(|moved| moved + 3_600 > second);
            range.moved.push(second);
            let within_an_hour = range.moved.len();
            let figures = &mut self.figures;
            figures.most_moves = figures.most_moves.max(within_an_hour);
            figures.moves += 1;
            figures.by_count += usize::from(decided.reason == MoveReason::Count);
        }
    }

    fn measure(&mut self, cores: &[f64]) {
        let mut loads: HashMap<&str, f64> = HashMap::new();
        for (range, cores) in self.ranges.iter().zip(cores) {
            if let Some(owner) = &range.owner {
                *loads.entry(owner).or_default() += cores;
            }
        }
        let busiest = loads.values().copied().fold(0.0, f64::max);
        let takers = self
            .servers
            .iter()
            .filter(|server| !server.draining)
            .count();
        let mean = loads.values().sum::<f64>() / takers as f64;
        if mean < BUSY_MEAN {
            return;
        }
        let figures = &mut self.figures;
        figures.ratios.push(busiest / mean);
        figures.uneven = match busiest / mean > RATIO {
            true => figures.uneven + 1,
            false => 0,
        };
        figures.longest_uneven = figures.longest_uneven.max(figures.uneven);
    }

    fn spans(&self) -> impl Iterator<Item = (&Range, usize)> {
        let starts = self.ranges.iter().skip(1).map(|range| range.start);
        self.ranges
            .iter()
            .zip(starts.chain([self.load.cores.len()]))
    }

    fn observed(&self) -> Vec<Observed> {
        let observe = |(range, end): (&Range, usize)| {
            let pieces = &self.load.cores[range.start..end];
            let cores: f64 = pieces.iter().sum();
            Observed {
                id: range.id,
                bytes: self.load.bytes[range.start..end].iter().sum(),
                rate: cores * RATE,
                cores,
                split_point: split_point(pieces, range.start, cores),
                detaching: false,
            }
        };
        self.spans().map(observe).collect()
    }

    /// Splits keep their server; a merge takes the right range to the server of the left one first.
    fn change(&mut self, action: &BalanceAction) {
        match action {
            BalanceAction::SplitByLoad(id, at) => {
                let at = u32::from_be_bytes(at[..].try_into().unwrap());
                self.split(*id, at as usize);
            }
            BalanceAction::SplitBySize(id) => {
                let span = self.spans().find(|(range, _)| range.id == *id).unwrap();
                self.split(*id, usize::midpoint(span.0.start, span.1));
            }
            BalanceAction::Merge(left, right) => {
                let owner = self.range(*right).owner.clone();
                self.figures.moves += usize::from(self.range(*left).owner != owner);
                self.figures.merges += 1;
                self.ranges.retain(|range| range.id != *right);
                self.replace(*left, &[]);
            }
        }
    }

    fn split(&mut self, id: RangeId, at: usize) {
        self.figures.splits += 1;
        self.replace(id, &[at]);
    }

    /// Replaces a range by a new one of its start, and others of these starts, on its server.
    fn replace(&mut self, id: RangeId, starts: &[usize]) {
        let range = self.range(id);
        let (start, owner) = (range.start, range.owner.clone());
        self.ranges.retain(|range| range.id != id);
        for start in [start].iter().chain(starts) {
            self.add(*start, owner.clone());
        }
        self.ranges.sort_unstable_by_key(|range| range.start);
    }

    fn add(&mut self, start: usize, owner: Option<Arc<str>>) {
        self.ranges.push(Range {
            start,
            id: RangeId(self.next),
            owner,
            moved: Vec::new(),
        });
        self.next += 1;
    }

    fn range(&mut self, id: RangeId) -> &mut Range {
        let found = self.ranges.iter_mut().find(|range| range.id == id);
        found.unwrap()
    }

    /// The ranges of each server.
    pub(super) fn counts(&self) -> HashMap<Arc<str>, usize> {
        let mut counts = HashMap::new();
        for owner in self.ranges.iter().filter_map(|range| range.owner.clone()) {
            *counts.entry(owner).or_default() += 1;
        }
        counts
    }

    /// The load of the busiest server divided by the mean, on average since round `from`.
    pub(super) fn mean_ratio(&self, from: usize) -> f64 {
        let ratios = &self.figures.ratios[from..];
        ratios.iter().sum::<f64>() / ratios.len() as f64
    }

    /// Removes servers, and returns how many ranges each heir got in the next round.
    pub(super) fn fail(&mut self, servers: &[Arc<str>]) -> HashMap<Arc<str>, usize> {
        self.servers
            .retain(|server| !servers.contains(&server.name));
        let mut lost = Vec::new();
        for range in &mut self.ranges {
            if range
                .owner
                .as_ref()
                .is_some_and(|owner| servers.contains(owner))
            {
                range.owner = None;
                lost.push(range.start);
            }
        }
        self.round();
        let mut heirs = HashMap::new();
        for range in self
            .ranges
            .iter()
            .filter(|range| lost.contains(&range.start))
        {
            *heirs.entry(range.owner.clone().unwrap()).or_default() += 1;
        }
        heirs
    }
}

pub(super) fn server(index: usize) -> ServerView {
    ServerView {
        name: Arc::from(format!("server-{index:03}")),
        draining: false,
        takes_ranges: true,
    }
}

/// The start of the piece that divides the load best, unless most of the load is in one piece.
fn split_point(pieces: &[f64], start: usize, total: f64) -> SplitPoint {
    let mut left = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (index, cores) in pieces.iter().enumerate().skip(1) {
        left += pieces[index - 1];
        let off = (left - total / 2.0).abs();
        if *cores > 0.0 && off < total / 4.0 && best.is_none_or(|(least, _)| off < least) {
            best = Some((off, start + index));
        }
    }
    match best {
        Some((_, at)) => SplitPoint::At(Bytes::copy_from_slice(&(at as u32).to_be_bytes())),
        None => SplitPoint::None,
    }
}
