//! The buckets of very many partitions in bounded memory.
//!
//! A full bucket equals a new one, so only buckets that were charged in the last second, or are in debt, are kept. Each
//! new bucket advances a position in the list of buckets by a few places and drops the full buckets there. When the
//! list has its maximum length, the fullest of the next few buckets is dropped: its partition then has a full bucket
//! again and may exceed its target a little. Hot partitions have the emptiest buckets, so they are not affected.
//!
//! A bucket is identified by a 64-bit hash of the key, with a seed of the process. Two keys with the same hash share a
//! bucket.

use super::Cost;
use super::bucket::Bucket;
use super::rates::Rates;
use std::collections::HashMap;

/// The buckets of all partitions, all containers or all accounts.
#[derive(Debug)]
pub(super) struct Buckets {
    slots: Vec<Slot>,
    index: HashMap<u64, usize>,
    hand: usize,
    max: usize,
}

#[derive(Debug)]
struct Slot {
    key: u64,
    rates: Rates,
    entities: Bucket,
    bytes: Bucket,
}

/// The number of buckets that are checked for each new bucket. The last bucket in the list replaces a dropped one and
/// is checked next.
const SWEPT: usize = 4;
/// The number of buckets from which the fullest is dropped when the number of buckets is at its bound.
const CANDIDATES: usize = 8;

impl Buckets {
    /// A set of at most `max` buckets. A bucket and its index take about 80 bytes.
    pub(super) fn new(max: usize) -> Self {
        Self {
            slots: Vec::new(),
            index: HashMap::new(),
            hand: 0,
            max,
        }
    }

    /// Nanoseconds until the cost is admitted, and whether bytes are the cause.
    pub(super) fn wait(&mut self, key: u64, rates: Rates, now: u64, cost: Cost) -> (u64, bool) {
        let Some(slot) = self.index.get(&key).and_then(|&at| self.slots.get_mut(at)) else {
            // An absent bucket is full.
            return (0, false);
        };
        let entities = rates
            .entities
            .map_or(0, |rate| slot.entities.wait(rate, now, cost.entities));
        let bytes = rates
            .bytes
            .map_or(0, |rate| slot.bytes.wait(rate, now, cost.bytes));
        (entities.max(bytes), bytes > entities)
    }

    /// Takes the cost; returns whether that leaves a debt.
    pub(super) fn take(&mut self, key: u64, rates: Rates, now: u64, cost: Cost) -> bool {
        if rates.is_unlimited() {
            return false;
        }
        let slot = self.slot(key, rates, now);
        // This server's share of the target may be another one.
        slot.rates = rates;
        let mut in_debt = false;
        if let Some(rate) = rates.entities {
            slot.entities.take(rate, now, cost.entities);
            in_debt |= slot.entities.is_in_debt();
        }
        if let Some(rate) = rates.bytes {
            slot.bytes.take(rate, now, cost.bytes);
            in_debt |= slot.bytes.is_in_debt();
        }
        in_debt
    }

    fn slot(&mut self, key: u64, rates: Rates, now: u64) -> &mut Slot {
        let at = match self.index.get(&key) {
            Some(&at) => at,
            None => self.add(key, rates, now),
        };
        self.slots
            .get_mut(at)
            .expect("the index has valid positions")
    }

    fn add(&mut self, key: u64, rates: Rates, now: u64) -> usize {
        self.sweep(now);
        if self.slots.len() >= self.max {
            self.drop_one(now);
        }
        let full =
            |rate: Option<_>| rate.map_or(Bucket::full(ONE, now), |rate| Bucket::full(rate, now));
        self.slots.push(Slot {
            key,
            rates,
            entities: full(rates.entities),
            bytes: full(rates.bytes),
        });
        self.index.insert(key, self.slots.len() - 1);
        self.slots.len() - 1
    }

    /// Drops some full buckets.
    fn sweep(&mut self, now: u64) {
        for _ in 0..SWEPT {
            self.hand %= self.slots.len().max(1);
            match self.slots.get(self.hand) {
                Some(slot) if slot.nanos_to_full(now) == 0 => self.remove(self.hand),
                _ => self.hand += 1,
            }
        }
    }

    /// Drops the bucket nearest to full among the next few.
    fn drop_one(&mut self, now: u64) {
        let len = self.slots.len();
        let candidates = (self.hand..self.hand + CANDIDATES).map(|at| at % len);
        let distance = |at: &usize| self.slots.get(*at).map(|slot| slot.nanos_to_full(now));
        let nearest = candidates.min_by_key(distance);
        self.hand = (self.hand + CANDIDATES) % len;
        if let Some(at) = nearest {
            self.remove(at);
        }
    }

    fn remove(&mut self, at: usize) {
        let gone = self.slots.swap_remove(at);
        self.index.remove(&gone.key);
        if let Some(moved) = self.slots.get(at) {
            self.index.insert(moved.key, at);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }
}

/// The rate of a bucket without a target: the bucket is never read.
const ONE: std::num::NonZeroU32 = std::num::NonZeroU32::MIN;

impl Slot {
    fn nanos_to_full(&self, now: u64) -> u64 {
        let of = |rate: Option<_>, mut bucket: Bucket| {
            rate.map_or(0, |rate| bucket.nanos_to_full(rate, now))
        };
        of(self.rates.entities, self.entities).max(of(self.rates.bytes, self.bytes))
    }
}
