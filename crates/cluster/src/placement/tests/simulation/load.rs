//! The load of a key space: waves over the day, noise, and hot spots that appear, wander and end.

use std::time::Duration;

/// A small generator of random numbers, so that a seed gives the same days again.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0 to 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        ((self.unit() * end as f64) as usize).min(end - 1)
    }

    /// About a normal distribution of mean 0 and deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Neighbouring pieces whose load goes up and down together.
const TENANT: usize = 16;

/// A load that begins at one piece and moves on to the next.
struct HotSpot {
    piece: usize,
    cores: f64,
    moves: Duration,
    ends: Duration,
}

/// The pieces of the key space, which are the smallest unit of a split.
pub(super) struct Load {
    random: Random,
    /// The processors that each piece uses on average, of a lognormal distribution.
    mean: Vec<f64>,
    /// The bytes of each piece.
    pub(super) bytes: Vec<u64>,
    /// The time of day at which each tenant has its peak, from 0 to 1.
    phases: Vec<f64>,
    hot: Vec<HotSpot>,
    /// How many hot spots there are.
    hot_spots: usize,
    /// The processors that each piece uses now.
    pub(super) cores: Vec<f64>,
}

/// How much the load of a tenant is above its mean at its peak.
const WAVE: f64 = 0.8;
/// Most tenants have their peak at the same time of the day.
const PHASES: f64 = 0.3;
/// The deviation of a piece's load from one round to the next.
const NOISE: f64 = 0.15;
/// A piece that uses more could not be divided, and no placement would help.
const PIECE_CORES_MAX: f64 = 0.25;

impl Load {
    /// Pieces that use `total` processors on average, without hot spots.
    pub(super) fn new(mut random: Random, pieces: usize, total: f64, hot_spots: usize) -> Self {
        let weights: Vec<f64> = (0..pieces).map(|_| random.normal().exp()).collect();
        let sum: f64 = weights.iter().sum();
        let mean = weights
            .iter()
            .map(|weight| (weight * total / sum).min(PIECE_CORES_MAX))
            .collect();
        let bytes = (0..pieces)
            .map(|_| ((0.1 + random.unit()) * f64::from(1 << 30)) as u64)
            .collect();
        let phases = (0..=pieces / TENANT)
            .map(|_| random.unit() * PHASES)
            .collect();
        Self {
            random,
            mean,
            bytes,
            phases,
            hot: Vec::new(),
            hot_spots,
            cores: vec![0.0; pieces],
        }
    }

    /// The load at a time since the first midnight.
    pub(super) fn advance(&mut self, time: Duration) {
        let day = time.as_secs_f64() / 86_400.0;
        let waves: Vec<f64> = self
            .phases
            .iter()
            .map(|phase| 1.0 + WAVE * (std::f64::consts::TAU * (day + phase)).sin())
            .collect();
        for (piece, cores) in self.cores.iter_mut().enumerate() {
            let noise = 1.0 + NOISE * 3.46 * (self.random.unit() - 0.5);
            *cores = self.mean[piece] * waves[piece / TENANT] * noise;
        }
        self.wander(time);
        for spot in &self.hot {
            self.cores[spot.piece] += spot.cores / 2.0;
            let next = (spot.piece + 1) % self.cores.len();
            self.cores[next] += spot.cores / 2.0;
        }
    }

    fn wander(&mut self, time: Duration) {
        self.hot.retain(|spot| spot.ends > time);
        while self.hot.len() < self.hot_spots {
            let minutes = |least: f64, random: &mut Random| {
                Duration::from_secs_f64(60.0 * least * (1.0 + 3.0 * random.unit()))
            };
            self.hot.push(HotSpot {
                piece: self.random.below(self.cores.len()),
                cores: 0.2 + 0.6 * self.random.unit(),
                moves: time + minutes(5.0, &mut self.random),
                ends: time + minutes(15.0, &mut self.random),
            });
        }
        for spot in &mut self.hot {
            if spot.moves <= time {
                spot.piece = (spot.piece + 1) % self.cores.len();
                spot.moves = time + Duration::from_secs(600);
            }
        }
    }
}
