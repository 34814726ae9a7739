//! The key filter: detects most absent keys in a fraction of a microsecond.
//!
//! Looking up an absent key costs the engine as much as an existing one, and every insert looks up an absent key. The
//! filter holds the hashes of all keys that were ever written or found, in Bloom filters of growing size. "Absent" is
//! certain; "may exist" is wrong for about one absent key in a hundred. A deleted key stays in the filter and causes
//! one unnecessary look-up when it is inserted again.
//!
//! A range uses the filter only after all keys of the range have been added
//! ([`Range::build_key_filter`](crate::Range::build_key_filter)).

use fastbloom::AtomicBloomFilter;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of keys for which the first Bloom filter is sized.
const FIRST_KEYS: u64 = 64 << 10;
/// Each further Bloom filter is sized for this many times as many keys.
const GROWTH: u64 = 4;
/// The number of Bloom filters: for 64 Ki, 256 Ki, 1 Mi, 4 Mi and 16 Mi keys, 22 million in all. Further keys go into
/// the last filter, which then has more false positives.
const LAYERS: usize = 5;
/// Bits per key. With 10 bits and 6 hashes, one absent key in 120 passes a full filter.
const BITS_PER_KEY: u64 = 10;
/// Number of bits that are set for each key.
const HASHES: u32 = 6;

/// The keys of all ranges of a process.
pub(crate) struct KeyFilter {
    layers: [OnceLock<Layer>; LAYERS],
    /// The layer that new keys are added to.
    filling: AtomicUsize,
    hasher: FixedState,
}

struct Layer {
    keys: AtomicU64,
    bits: AtomicBloomFilter,
}

impl Layer {
    fn capacity(at: usize) -> u64 {
        (0..at).fold(FIRST_KEYS, |keys, _| keys * GROWTH)
    }

    fn new(at: usize) -> Self {
        let bits = usize::try_from(Self::capacity(at) * BITS_PER_KEY).unwrap_or(usize::MAX);
        Self {
            keys: AtomicU64::new(0),
            bits: AtomicBloomFilter::with_num_bits(bits).hashes(HASHES),
        }
    }
}

impl KeyFilter {
    pub(crate) fn new() -> Self {
        Self {
            layers: [const { OnceLock::new() }; LAYERS],
            filling: AtomicUsize::new(0),
            hasher: FixedState::default(),
        }
    }

    /// Adds a key. Must be called before the key is visible in the engine.
    pub(crate) fn add(&self, key: &[u8]) {
        let hash = self.hasher.hash_one(key);
        // Rows are updated more often than inserted: only new keys use capacity.
        if self.contains_hash(hash) {
            return;
        }
        let at = self.filling.load(Ordering::Relaxed);
        let Some(layer) = self.layers.get(at) else {
            return;
        };
        let layer = layer.get_or_init(|| Layer::new(at));
        layer.bits.insert_hash(hash);
        let keys = layer.keys.fetch_add(1, Ordering::Relaxed) + 1;
        if keys == Layer::capacity(at) && at + 1 < LAYERS {
            self.filling.store(at + 1, Ordering::Relaxed);
        }
    }

    /// False only if the key was never added.
    pub(crate) fn may_contain(&self, key: &[u8]) -> bool {
        self.contains_hash(self.hasher.hash_one(key))
    }

    fn contains_hash(&self, hash: u64) -> bool {
        self.made().any(|layer| layer.bits.contains_hash(hash))
    }

    fn made(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().map_while(OnceLock::get)
    }

    /// The number of keys, and the filter's bytes in memory.
    pub(crate) fn size(&self) -> (u64, u64) {
        self.made().fold((0, 0), |(keys, bytes), layer| {
            let bits = layer.bits.num_bits() as u64;
            (keys + layer.keys.load(Ordering::Relaxed), bytes + bits / 8)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> [u8; 16] {
        let mut key = *b"a key of a row..";
        key[8..].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn the_filter_grows_and_keeps_all_keys() {
        let filter = KeyFilter::new();
        let count = FIRST_KEYS * 3;
        for number in 0..count {
            filter.add(&key(number));
        }
        assert!((0..count).all(|number| filter.may_contain(&key(number))));
        let absent = (count..2 * count).filter(|&number| !filter.may_contain(&key(number)));
        let passed = count - absent.count() as u64;
        assert!(passed < count / 40, "{passed} of {count} absent keys pass");
        let (keys, bytes) = filter.size();
        // A key is not added if it is a false positive, so the number of keys can be slightly lower.
        assert!(
            (count * 97 / 100..=count).contains(&keys),
            "{keys} of {count}"
        );
        assert_eq!(bytes, (FIRST_KEYS + FIRST_KEYS * GROWTH) * BITS_PER_KEY / 8);
    }

    #[test]
    fn a_repeated_key_uses_no_capacity() {
        let filter = KeyFilter::new();
        for _ in 0..1_000 {
            filter.add(&key(1));
        }
        assert_eq!(filter.size().0, 1);
    }
}
