//! A day of slots that get coarser with age.
//!
//! ```text
//! now ── 1 h ──────────── 6 h ───────────────── 24 h
//!    10 s      1 min             5 min             forgotten
//! ```
//!
//! Invariants:
//! - slots of a tier are in order of time, and every slot of a coarser tier is before every slot of a finer one;
//! - a slot of a coarser tier is made of whole slots of the finer one: the borders are multiples of the coarser span;
//! - sums stay the same until a slot is dropped; of partitions only the hottest of each slot are kept.

use super::slot::{Happened, Keys, Slot, Time};
use std::collections::VecDeque;

/// Tens of seconds in an hour.
pub(super) const HOUR: Time = 360;
const FINE_KEPT: Time = HOUR;
const MEDIUM_KEPT: Time = 6 * HOUR;
/// Tens of seconds for which slots are kept.
pub(super) const KEPT: Time = 24 * HOUR;
/// How far ahead of the clock slots may be, for a clock that is set back a little.
pub(super) const AHEAD_MAX: Time = HOUR;

/// How much time a slot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    Fine,
    Medium,
    Coarse,
}

impl Tier {
    pub(super) const ALL: [Self; 3] = [Self::Fine, Self::Medium, Self::Coarse];

    /// Tens of seconds of a slot.
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

    /// The beginning of the slot that a time falls into.
    pub(super) const fn align(self, time: Time) -> Time {
        time - time % self.span()
    }
}

/// The slots.
#[derive(Debug, Default)]
pub(super) struct Tiers {
    fine: VecDeque<Slot>,
    medium: VecDeque<Slot>,
    coarse: VecDeque<Slot>,
    pub(super) keys: Keys,
    /// Slots before it are in the archive and are not changed any more.
    pub(super) saved_to: Time,
}

impl Tiers {
    /// Adds the load of a time, and moves older slots to coarser tiers. A time before the newest slot, from a clock that was set back,
    /// counts as that slot's: what was shown stays in order.
    ///
    /// Returns how many slots were forgotten because they lay in the future.
    pub(super) fn record(&mut self, at: Time, happened: Happened) -> usize {
        let forgotten = self.forget_future(at);
        let newest = self.newest().unwrap_or(0);
        let at = at.max(newest).max(self.saved_to);
        self.put(Tier::Fine, at, happened);
        self.age();
        forgotten
    }

    /// Adds what happened to a slot of a tier.
    pub(super) fn put(&mut self, tier: Tier, start: Time, happened: Happened) {
        let slots = self.of_mut(tier);
        let at = slots.partition_point(|slot| slot.start < start);
        match slots.get_mut(at).filter(|slot| slot.start == start) {
            Some(slot) => slot.add(happened),
            None => slots.insert(at, Slot::new(start, happened)),
        }
    }

    pub(super) fn of(&self, tier: Tier) -> &VecDeque<Slot> {
        match tier {
            Tier::Fine => &self.fine,
            Tier::Medium => &self.medium,
            Tier::Coarse => &self.coarse,
        }
    }

    fn of_mut(&mut self, tier: Tier) -> &mut VecDeque<Slot> {
        match tier {
            Tier::Fine => &mut self.fine,
            Tier::Medium => &mut self.medium,
            Tier::Coarse => &mut self.coarse,
        }
    }

    /// The newest slot's time, of any tier.
    pub(super) fn newest(&self) -> Option<Time> {
        let newest = |tier: Tier| self.of(tier).back().map(|slot| slot.start);
        Tier::ALL.into_iter().filter_map(newest).max()
    }

    /// The time from which on slots are of this tier or a finer one.
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
        while self.coarse.front().is_some_and(|slot| slot.start < begins) {
            self.coarse.pop_front();
        }
        if folded {
            self.keys.sweep();
        }
    }

    /// Moves slots that are too old for their tier to the coarser one; false when there are none.
    fn fold(&mut self, tier: Tier, coarser: Tier) -> bool {
        let begins = self.begins(tier);
        let mut folded = false;
        let is_old = |slot: &Slot| slot.start < begins;
        while let Some(first) = self.of(tier).front().filter(|slot| is_old(slot)) {
            let start = coarser.align(first.start);
            // All that one coarser slot is made of together: what is hottest over its time need not be so at any.
            let mut happened = Happened::default();
            let slots = self.of_mut(tier);
            while let Some(slot) =
                slots.pop_front_if(|slot| is_old(slot) && coarser.align(slot.start) == start)
            {
                happened.extend(slot.into_happened());
            }
            self.put(coarser, start, happened);
            folded = true;
        }
        folded
    }

    /// Drops slots that a wrong clock put into the future, because every later load would be added to them.
    fn forget_future(&mut self, now: Time) -> usize {
        let ahead = |newest: Time| newest > now.saturating_add(AHEAD_MAX);
        if !self.newest().is_some_and(ahead) && !ahead(self.saved_to) {
            return 0;
        }
        let mut forgotten = 0;
        for tier in Tier::ALL {
            let slots = self.of_mut(tier);
            let before = slots.len();
            slots.retain(|slot| slot.start <= now);
            forgotten += before - slots.len();
        }
        self.saved_to = self.saved_to.min(now);
        forgotten
    }
}
