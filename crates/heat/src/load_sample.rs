//! A bounded sample of the load by key.
//!
//! Each sample is the indivisible prefix of a partition. All samples of a window represent the same amount of load:
//! when the sample is full, a random half is dropped and each other sample represents twice the load. So the share of a
//! partition in the samples equals its share of the load, at any time in the window.

use super::counters::mix;
use super::request::{REQUEST_LOAD, table_prefix};

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
    ends: Vec<KeyEnd>,
    /// The load that one sample represents; a power of two.
    unit: u64,
    /// The state of the random number generator.
    dice: u64,
}

#[derive(Clone, Copy, Debug)]
struct KeyEnd {
    /// The end offset of the key in the concatenated keys.
    offset: u32,
    /// The length of the table prefix in the key.
    table_bytes: u32,
}

/// The sampled load of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sampled<'k> {
    pub(super) partition: &'k [u8],
    /// The length of the table prefix in the partition.
    pub(super) table_bytes: usize,
    pub(super) load: u64,
}

impl<'k> Sampled<'k> {
    /// The table prefix of the partition.
    pub(super) fn table(&self) -> &'k [u8] {
        table_prefix(self.partition, self.table_bytes)
    }
}

/// A closed window of the sample.
#[derive(Clone, Debug)]
pub(super) struct ClosedSample(Reservoir);

impl ClosedSample {
    /// The load of each partition, in key order.
    pub(super) fn by_partition(&self) -> Vec<Sampled<'_>> {
        summed(self.0.iter())
    }

    /// The load of one sample.
    pub(super) const fn unit(&self) -> u64 {
        self.0.unit
    }
}

impl LoadSample {
    pub(super) const fn new() -> Self {
        Self {
            current: Reservoir::new(0),
            closed: Reservoir::new(0),
        }
    }

    /// Adds a load as a proportional number of samples.
    pub(super) fn add(&mut self, partition: &[u8], table_bytes: usize, load: u64) {
        self.current.add(partition, table_bytes, load);
    }

    /// Closes the window, and returns a copy of it.
    pub(super) fn roll(&mut self) -> ClosedSample {
        let next = Reservoir::new(self.current.dice);
        self.closed = std::mem::replace(&mut self.current, next);
        ClosedSample(self.closed.clone())
    }

    /// The number of samples.
    pub(super) const fn count(&self) -> usize {
        self.current.ends.len() + self.closed.ends.len()
    }

    /// The load of each partition in the sample, in key order.
    pub(super) fn by_partition(&self) -> Vec<Sampled<'_>> {
        summed(self.closed.iter().chain(self.current.iter()))
    }

    /// The memory usage in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let of =
            |part: &Reservoir| part.keys.capacity() + part.ends.capacity() * size_of::<KeyEnd>();
        of(&self.current) + of(&self.closed)
    }
}

/// The load of each partition, in key order.
fn summed<'k>(samples: impl Iterator<Item = Sampled<'k>>) -> Vec<Sampled<'k>> {
    let mut sampled: Vec<Sampled<'k>> = samples.collect();
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

impl Reservoir {
    const fn new(dice: u64) -> Self {
        Self {
            keys: Vec::new(),
            ends: Vec::new(),
            unit: REQUEST_LOAD,
            dice,
        }
    }

    fn add(&mut self, key: &[u8], table_bytes: usize, load: u64) {
        let mut left = load;
        while left >= self.unit {
            left -= self.unit;
            self.push(key, table_bytes);
        }
        // A remainder smaller than one sample adds a sample with a probability proportional to the remainder.
        if self.roll_dice() & (self.unit - 1) < left {
            self.push(key, table_bytes);
        }
    }

    fn push(&mut self, key: &[u8], table_bytes: usize) {
        while !self.ends.is_empty() && !self.has_room(key.len()) {
            self.thin();
        }
        self.keys.extend_from_slice(key);
        // The offset is at most `KEY_BYTES_MAX` plus one key, so both lengths fit into 32 bits.
        self.ends.push(KeyEnd {
            offset: self.keys.len() as u32,
            table_bytes: table_bytes as u32,
        });
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
                ends.push(KeyEnd {
                    offset: keys.len() as u32,
                    table_bytes: sample.table_bytes as u32,
                });
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
        self.ends.iter().map(move |end| {
            let offset = end.offset as usize;
            let partition = self.keys.get(start..offset).unwrap_or_default();
            start = offset;
            Sampled {
                partition,
                table_bytes: end.table_bytes as usize,
                load: self.unit,
            }
        })
    }
}
