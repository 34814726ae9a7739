//! A bounded sample of the load by key.
//!
//! Each sample is the indivisible prefix of a partition. All samples of a window represent the same amount of load:
//! when the sample is full, a random half is dropped and each other sample represents twice the load. So the share of a
//! partition in the samples equals its share of the load, at any time in the window.

use super::counters::mix;
use super::request::REQUEST_LOAD;

/// The maximum number of samples of a window; 4,096 with the previous window.
const SAMPLES_MAX: usize = 2_048;
/// The maximum bytes of the sampled keys: long keys allow fewer samples.
const KEY_BYTES_MAX: usize = 96 << 10;

/// The samples of the current and the previous window.
#[derive(Clone, Debug)]
pub(super) struct LoadSample {
    current: Reservoir,
    closed: Reservoir,
}

#[derive(Clone, Debug)]
struct Reservoir {
    /// The keys, concatenated.
    keys: Vec<u8>,
    /// The end offset of each key in `keys`.
    ends: Vec<u32>,
    /// The load that one sample represents; a power of two.
    unit: u64,
    /// The state of the random number generator.
    dice: u64,
}

/// The sampled load of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sampled<'k> {
    pub(super) partition: &'k [u8],
    pub(super) load: u64,
}

impl LoadSample {
    pub(super) const fn new() -> Self {
        Self {
            current: Reservoir::new(0),
            closed: Reservoir::new(0),
        }
    }

    /// Adds a load as a proportional number of samples.
    pub(super) fn add(&mut self, partition: &[u8], load: u64) {
        self.current.add(partition, load);
    }

    /// Closes the window.
    pub(super) fn roll(&mut self) {
        let next = Reservoir::new(self.current.dice);
        self.closed = std::mem::replace(&mut self.current, next);
    }

    /// The number of samples.
    pub(super) const fn count(&self) -> usize {
        self.current.ends.len() + self.closed.ends.len()
    }

    /// The load of each partition in the sample, in key order.
    pub(super) fn by_partition(&self) -> Vec<Sampled<'_>> {
        let mut sampled: Vec<Sampled<'_>> = self.closed.iter().chain(self.current.iter()).collect();
        sampled.sort_unstable_by_key(|sample| sample.partition);
        sampled.dedup_by(|next, kept| {
            let same = next.partition == kept.partition;
            if same {
                kept.load += next.load;
            }
            same
        });
        sampled
    }

    /// The memory usage in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let of = |part: &Reservoir| part.keys.capacity() + part.ends.capacity() * 4;
        of(&self.current) + of(&self.closed)
    }
}

impl Reservoir {
    const fn new(dice: u64) -> Self {
        Self {
            keys: Vec::new(),
            ends: Vec::new(),
            unit: REQUEST_LOAD,
            dice,
        }
    }

    fn add(&mut self, key: &[u8], load: u64) {
        let mut left = load;
        while left >= self.unit {
            left -= self.unit;
            self.push(key);
        }
        // A remainder smaller than one sample adds a sample with a probability proportional to the remainder.
        if self.roll_dice() & (self.unit - 1) < left {
            self.push(key);
        }
    }

    fn push(&mut self, key: &[u8]) {
        while !self.ends.is_empty() && !self.has_room(key.len()) {
            self.thin();
        }
        self.keys.extend_from_slice(key);
        // The offset is at most `KEY_BYTES_MAX` plus one key, so it fits into 32 bits.
        self.ends.push(self.keys.len() as u32);
    }

    fn has_room(&self, key_bytes: usize) -> bool {
        self.ends.len() < SAMPLES_MAX && self.keys.len() + key_bytes <= KEY_BYTES_MAX
    }

    /// Keeps each sample with a probability of a half.
    fn thin(&mut self) {
        let (mut keys, mut ends) = (
            Vec::with_capacity(KEY_BYTES_MAX.min(self.keys.capacity())),
            Vec::with_capacity(SAMPLES_MAX.min(self.ends.capacity())),
        );
        let mut dice = self.dice;
        for sample in self.iter() {
            dice = dice.wrapping_add(1);
            if mix(dice) & 1 == 0 {
                keys.extend_from_slice(sample.partition);
                ends.push(keys.len() as u32);
            }
        }
        self.dice = dice;
        self.keys = keys;
        self.ends = ends;
        self.unit *= 2;
    }

    fn roll_dice(&mut self) -> u64 {
        self.dice = self.dice.wrapping_add(1);
        mix(self.dice)
    }

    fn iter(&self) -> impl Iterator<Item = Sampled<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let end = end as usize;
            let partition = self.keys.get(start..end).unwrap_or_default();
            start = end;
            Sampled {
                partition,
                load: self.unit,
            }
        })
    }
}
