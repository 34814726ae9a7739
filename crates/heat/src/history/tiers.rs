//! The slots of a day in three tiers. Older slots are longer.
//!
//! ```text
//! now ── 1 h ──────────── 6 h ───────────────── 24 h
//!    10 s      1 min             5 min             dropped
//! ```
//!
//! Invariants:
//! - slots of a tier are in order of time, and every slot of a coarser tier is before every slot of a finer one;
//! - a slot of a coarser tier replaces complete slots of the finer tier: the border between two tiers is at a multiple
//!   of the coarser slot length;
//! - counts of key ranges stay the same until a slot is dropped; each slot keeps only its hottest partitions.

use super::slot::{Keys, Slot, SlotLoad, Time};
use std::collections::VecDeque;

/// An hour, in units of 10 s.
pub(super) const HOUR: Time = 360;
const FINE_KEPT: Time = HOUR;
const MEDIUM_KEPT: Time = 6 * HOUR;
/// How long slots are kept, in units of 10 s.
pub(super) const KEPT: Time = 24 * HOUR;
/// How far in the future slots may be, in units of 10 s, in case the clock is set back a little. If one is further
/// ahead, all slots with future times are dropped.
pub(super) const AHEAD_MAX: Time = HOUR;

/// The length of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    Fine,
    Medium,
    Coarse,
}

impl Tier {
    pub(super) const ALL: [Self; 3] = [Self::Fine, Self::Medium, Self::Coarse];

    /// The length of a slot, in tens of seconds.
    pub(super) const fn span(self) -> Time {
        match self {
            Self::Fine => 1,
            Self::Medium => 6,
            Self::Coarse => 30,
        }
    }

    pub(super) fn of_span(span: Time) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.span() == span)
    }

    /// The start of the slot that contains a time.
    pub(super) const fn align(self, time: Time) -> Time {
        time - time % self.span()
    }
}

/// The slots of the heat history, and the keys that they use.
#[derive(Debug, Default)]
pub(super) struct Tiers {
    /// The slots of each [`Tier`], in the order of its variants.
    slots: [VecDeque<Slot>; 3],
    pub(super) keys: Keys,
    /// Slots before this time are in the archive and get no more load.
    pub(super) saved_to: Time,
}

impl Tiers {
    /// Adds the load of the window at `at`, and moves older slots to coarser tiers. If `at` is before the newest slot,
    /// because the clock was set back, the load is added to that slot, so that slots stay in order. If `at` is already
    /// in the archive, the load is added to the first slot after the archived ones.
    ///
    /// Returns the number of slots dropped because they were in the future.
    pub(super) fn record(&mut self, at: Time, load: SlotLoad) -> usize {
        let dropped = self.drop_future(at);
        let newest = self.newest().unwrap_or(0);
        let at = at.max(newest).max(self.saved_to);
        self.put(Tier::Fine, at, load);
        self.age();
        dropped
    }

    /// Adds load to a slot of a tier.
    pub(super) fn put(&mut self, tier: Tier, start: Time, load: SlotLoad) {
        let slots = self.of_mut(tier);
        let at = slots.partition_point(|slot| slot.start < start);
        match slots.get_mut(at).filter(|slot| slot.start == start) {
            Some(slot) => slot.add(load),
            None => slots.insert(at, Slot::new(start, load)),
        }
    }

    pub(super) fn of(&self, tier: Tier) -> &VecDeque<Slot> {
        &self.slots[tier as usize]
    }

    fn of_mut(&mut self, tier: Tier) -> &mut VecDeque<Slot> {
        &mut self.slots[tier as usize]
    }

    /// The slots of all tiers.
    pub(super) fn all(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }

    /// The start of the newest slot of any tier.
    pub(super) fn newest(&self) -> Option<Time> {
        let newest = self.slots.iter().filter_map(VecDeque::back);
        newest.map(|slot| slot.start).max()
    }

    /// The earliest time of slots of this tier.
    pub(super) fn begins(&self, tier: Tier) -> Time {
        let end = self.newest().map_or(0, |newest| newest + 1);
        match tier {
            Tier::Fine => Tier::Medium.align(end.saturating_sub(FINE_KEPT)),
            Tier::Medium => Tier::Coarse.align(end.saturating_sub(MEDIUM_KEPT)),
            Tier::Coarse => Tier::Coarse.align(end.saturating_sub(KEPT)),
        }
    }

    /// Moves slots to the tier of their age.
    pub(super) fn age(&mut self) {
        let folded = self.fold(Tier::Fine, Tier::Medium) | self.fold(Tier::Medium, Tier::Coarse);
        let begins = self.begins(Tier::Coarse);
        self.of_mut(Tier::Coarse)
            .retain(|slot| slot.start >= begins);
        if folded {
            self.keys.sweep();
        }
    }

    /// Moves slots that are too old for their tier to the coarser tier; `false` if no slot moved.
    fn fold(&mut self, tier: Tier, coarser: Tier) -> bool {
        let begins = self.begins(tier);
        let mut folded = false;
        let is_old = |slot: &Slot| slot.start < begins;
        while let Some(first) = self.of(tier).front().filter(|slot| is_old(slot)) {
            let start = coarser.align(first.start);
            // Merges all finer slots before truncation: a partition can be among the hottest of the coarser slot
            // without leading any finer slot.
            let mut load = SlotLoad::default();
            let slots = self.of_mut(tier);
            while let Some(slot) =
                slots.pop_front_if(|slot| is_old(slot) && coarser.align(slot.start) == start)
            {
                load.extend(slot.into_load());
            }
            self.put(coarser, start, load);
            folded = true;
        }
        folded
    }

    /// Drops slots with future times from a wrong clock; otherwise all later load would be added to the newest of them.
    fn drop_future(&mut self, now: Time) -> usize {
        let ahead = |newest: Time| newest > now.saturating_add(AHEAD_MAX);
        if !self.newest().is_some_and(ahead) && !ahead(self.saved_to) {
            return 0;
        }
        let mut dropped = 0;
        for slots in &mut self.slots {
            let before = slots.len();
            slots.retain(|slot| slot.start <= now);
            dropped += before - slots.len();
        }
        self.saved_to = self.saved_to.min(now);
        dropped
    }
}
