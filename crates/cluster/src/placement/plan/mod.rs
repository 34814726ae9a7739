//! The servers with their loads in one round, and what the round decides.

mod counts;
mod drain;
mod loads;
mod place;

use super::known::Known;
use super::{Move, MoveReason, PlacementSettings, RangeView, ServerView};
use partita_range::RangeId;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The servers with their ranges. Decisions of the round change the loads, so that the next decision considers them.
pub(super) struct Plan<'a> {
    now: Instant,
    settings: &'a PlacementSettings,
    known: &'a HashMap<RangeId, Known>,
    ranges: &'a [RangeView],
    /// What is known of each range.
    facts: Vec<Facts<'a>>,
    slots: Vec<Slot<'a>>,
    /// The moves between servers that stay which earlier rounds decided and the views do not show.
    in_flight: usize,
}

/// What a round needs to know of a range.
struct Facts<'a> {
    /// The smoothed load in processors.
    cores: f64,
    /// Whether its load was too low for long enough.
    is_idle: bool,
    /// Whether it may be moved between servers that stay.
    is_movable: bool,
    /// The server of the last decision, if the views may not show it yet.
    decided: Option<&'a Arc<str>>,
}

/// A server in a round.
struct Slot<'a> {
    server: &'a ServerView,
    /// The smoothed load of its ranges, in processors.
    load: f64,
    /// The indices of its ranges, including those that are on their way to it.
    ranges: Vec<usize>,
    /// The moves and placements that it takes part in, of this round and of earlier ones.
    busy: usize,
}

impl Slot<'_> {
    /// Whether it may get ranges.
    fn takes(&self) -> bool {
        self.server.takes_ranges && !self.server.draining
    }

    /// By load, then by count, then by name. Decided moves count as load, so that many ranges are spread.
    fn compare(&self, other: &Self, settings: &PlacementSettings) -> Ordering {
        let load = |slot: &Self| slot.load + slot.busy as f64 * settings.opening_cores;
        load(self)
            .total_cmp(&load(other))
            .then_with(|| self.ranges.len().cmp(&other.ranges.len()))
            .then_with(|| self.server.name.cmp(&other.server.name))
    }
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        now: Instant,
        settings: &'a PlacementSettings,
        known: &'a HashMap<RangeId, Known>,
        servers: &'a [ServerView],
        ranges: &'a [RangeView],
    ) -> Self {
        let slots = servers.iter().map(|server| Slot {
            server,
            load: 0.0,
            ranges: Vec::new(),
            busy: 0,
        });
        let facts = ranges.iter().map(|range| {
            let known = known.get(&range.id);
            let settles = known.is_some_and(|known| known.is_settling(now, settings.cool_down));
            Facts {
                cores: known.map_or(0.0, |known| known.cores),
                is_idle: known.is_none_or(|known| known.peak <= settings.idle_cores),
                is_movable: !range.changing && !settles,
                decided: known.and_then(|known| known.decided(now, settings.decision_lasts)),
            }
        });
        let mut plan = Self {
            now,
            settings,
            known,
            ranges,
            facts: facts.collect(),
            slots: slots.collect(),
            in_flight: 0,
        };
        plan.assign();
        plan
    }

    /// Adds each range with an owner to its server, or to the server to which it is on its way.
    fn assign(&mut self) {
        let by_name: HashMap<&str, usize> = self
            .slots
            .iter()
            .enumerate()
            .map(|(index, slot)| (&*slot.server.name, index))
            .collect();
        let slot = |name: &Arc<str>| by_name.get(&**name).copied();
        for (index, range) in self.ranges.iter().enumerate() {
            let Some(owner) = range.owner.as_ref().and_then(slot) else {
                continue;
            };
            let target = self.facts[index].decided.and_then(slot).unwrap_or(owner);
            if target != owner {
                self.slots[owner].busy += 1;
                self.slots[target].busy += 1;
                self.in_flight += usize::from(!self.slots[owner].server.draining);
            }
            self.slots[target].load += self.cores(index);
            self.slots[target].ranges.push(index);
        }
    }

    /// The smoothed load of a range.
    fn cores(&self, range: usize) -> f64 {
        self.facts[range].cores
    }

    /// The indices of the servers that may get ranges.
    fn takers(&self) -> impl Iterator<Item = usize> + '_ {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| slot.takes().then_some(index))
    }

    /// The moves between servers that stay which this round may still decide.
    fn budget(&self, moves: &[Move]) -> usize {
        let most = (self.takers().count() / self.settings.servers_per_move).max(1);
        let decided = moves
            .iter()
            .filter(|decided| decided.reason != MoveReason::Drain);
        most.saturating_sub(self.in_flight + decided.count())
    }

    /// Decides to move a range between two servers.
    fn decide(&mut self, range: usize, from: usize, to: usize, reason: MoveReason) -> Move {
        let cores = self.cores(range);
        self.slots[from].ranges.retain(|of| *of != range);
        self.slots[from].load -= cores;
        self.slots[from].busy += 1;
        self.slots[to].ranges.push(range);
        self.slots[to].load += cores;
        self.slots[to].busy += 1;
        Move {
            range: self.ranges[range].id,
            from: Arc::clone(&self.slots[from].server.name),
            to: Arc::clone(&self.slots[to].server.name),
            reason,
        }
    }
}
