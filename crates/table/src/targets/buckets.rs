//! The buckets of very many partitions, from bounded memory.
//!
//! A full bucket is as good as none, so only those from which something was taken in the last second (or that are in debt) need
//! be known. Each new one makes the hand move on and drop what is full by now. Past the bound the one nearest to full of the
//! next few is forgotten: its partition has a full bucket again, so it is let through a little more than its target, never
//! less. The hot ones, which matter, are the farthest from full.
//!
//! Keys are known by a hash with a seed of the process: two that share one (in 2^64) share a bucket.

use super::Cost;
use super::bucket::Bucket;
use super::settings::Rates;
use std::collections::HashMap;

/// What is known of the takers of one rate.
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

/// Looked at for each new bucket: where one goes, a new one takes its place and is looked at next, so that of four two may go.
const SWEPT: usize = 4;
/// Looked at for one to forget.
const CANDIDATES: usize = 8;

impl Buckets {
    /// Room for `max` buckets of some 80 bytes, and their index.
    pub(super) fn new(max: usize) -> Self {
        Self {
            slots: Vec::new(),
            index: HashMap::new(),
            hand: 0,
            max,
        }
    }

    /// Nanoseconds until this is let in, and whether bytes are what it waits for.
    pub(super) fn wait(&mut self, key: u64, rates: Rates, now: u64, cost: Cost) -> (u64, bool) {
        let Some(slot) = self.index.get(&key).and_then(|&at| self.slots.get_mut(at)) else {
            // Not known is full.
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

    /// Takes it; true when that left a debt.
    pub(super) fn take(&mut self, key: u64, rates: Rates, now: u64, cost: Cost) -> bool {
        if rates.is_unlimited() {
            return false;
        }
        let slot = self.slot(key, rates, now);
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
            .expect("the index names slots that are there")
    }

    fn add(&mut self, key: u64, rates: Rates, now: u64) -> usize {
        self.sweep(now);
        if self.slots.len() >= self.max {
            self.forget_one(now);
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

    /// Drops some of those that are full.
    fn sweep(&mut self, now: u64) {
        for _ in 0..SWEPT {
            self.hand %= self.slots.len().max(1);
            match self.slots.get(self.hand) {
                Some(slot) if slot.nanos_to_full(now) == 0 => self.remove(self.hand),
                _ => self.hand += 1,
            }
        }
    }

    /// Drops the one of the next few that is nearest to full.
    fn forget_one(&mut self, now: u64) {
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

/// Of a bucket that nobody asks.
const ONE: std::num::NonZeroU32 = std::num::NonZeroU32::MIN;

impl Slot {
    fn nanos_to_full(&self, now: u64) -> u64 {
        let of = |rate: Option<_>, mut bucket: Bucket| {
            rate.map_or(0, |rate| bucket.nanos_to_full(rate, now))
        };
        of(self.rates.entities, self.entities).max(of(self.rates.bytes, self.bytes))
    }
}
