//! Decides which server of a cluster serves which range: pure functions, so that a test can simulate days.
//!
//! - **Placement** ([`Placer::place`]): a range without an owner gets the server with the least load. Each range that a
//!   server gets in the same call counts as load, so that the ranges of a failed server are spread over many heirs.
//! - **Drain**: a draining server gives away its ranges, a few at a time.
//! - **Load**: the busiest server gives a range to the least loaded, if it uses clearly more processors than the mean. A
//!   range that is most of its server's load is not moved, because that would only move the problem: the
//!   [`Balancer`](crate::Balancer) splits it.
//! - **Counts**: a server with clearly more idle ranges than the mean gives some away, and one with clearly fewer gets
//!   some. A server with a load can become busy by one more hot range; idle ranges are spread so that they become busy
//!   on different servers.
//!
//! Invariants:
//! - A range whose owner changed is not moved during the cool-down, except off a draining server. The cool-down grows with
//!   each move, so that a range is moved at most four times an hour.
//! - A server takes part in one move at a time, except a draining server and the servers that get its ranges.
//! - After a placement, nothing is moved for half a minute, except off a draining server: the loads must settle first.
//! - A draining server, or one that takes no ranges, gets none.
//! - Equal views give equal decisions: servers with equal loads and counts are ordered by name.

mod known;
mod plan;
mod settings;

#[cfg(test)]
mod tests;

use known::Known;
use partita_range::RangeId;
use plan::Plan;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

pub use settings::PlacementSettings;

/// A living server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerView {
    /// Its name, which is unique in the cluster.
    pub name: Arc<str>,
    /// Whether it is about to leave: it gives its ranges away and gets none.
    pub draining: bool,
    /// Whether it serves ranges at all. A front or a candidate for manager does not.
    pub takes_ranges: bool,
}

/// A range of the partition map.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeView {
    /// Its id.
    pub id: RangeId,
    /// The living server to which it is assigned.
    pub owner: Option<Arc<str>>,
    /// The processors that its requests used in the last window; 1.0 is one processor. `None` before its owner has
    /// reported it, for example after a split.
    pub cores: Option<f64>,
    /// Whether it is being opened, moved, split or merged. Such a range is not moved.
    pub changing: bool,
}

/// Why a range is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveReason {
    /// Its owner is draining.
    Drain,
    /// Its owner is busier than others.
    Load,
    /// Its owner has more ranges than others.
    Count,
}

/// A decision to move a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The range.
    pub range: RangeId,
    /// Its owner.
    pub from: Arc<str>,
    /// The server that shall serve it.
    pub to: Arc<str>,
    /// Why.
    pub reason: MoveReason,
}

/// Decides on placements and moves. It remembers smoothed loads, its own decisions, and when each range got its owner;
/// a new manager begins with an empty one.
#[derive(Debug)]
pub struct Placer {
    settings: PlacementSettings,
    known: HashMap<RangeId, Known>,
    /// The servers whose counts are being evened.
    evening: Vec<Arc<str>>,
    /// No move before this time, except off a draining server.
    quiet_until: Option<Instant>,
}

impl Placer {
    /// A placer without observations.
    #[must_use]
    pub fn new(settings: PlacementSettings) -> Self {
        Self {
            settings,
            known: HashMap::new(),
            evening: Vec::new(),
            quiet_until: None,
        }
    }

    /// Servers for the ranges without an owner. It decides again in each call: the views of the next call must contain
    /// the owners that this call decided.
    ///
    /// A range that has lost its owner again during the cool-down gets another server if possible, because the last one
    /// probably failed to open it. The result is empty if no server takes ranges.
    pub fn place(
        &mut self,
        now: Instant,
        servers: &[ServerView],
        ranges: &[RangeView],
    ) -> Vec<(RangeId, Arc<str>)> {
        self.note(now, ranges);
        if ranges.iter().all(|range| range.owner.is_some()) {
            return Vec::new();
        }
        let mut plan = Plan::new(now, &self.settings, &self.known, servers, ranges);
        let decided = plan.place();
        for (range, to) in &decided {
            let known = self.known.entry(*range).or_default();
            if known.decided(now, self.settings.cool_down).is_none() {
                self.quiet_until = Some(now + self.settings.failover_pause);
            }
            known.decide(now, to);
        }
        decided
    }

    /// The moves of this round. The manager may call it every second; rounds that move ranges between servers that stay
    /// are at least [`PlacementSettings::interval`] apart.
    pub fn balance(
        &mut self,
        now: Instant,
        servers: &[ServerView],
        ranges: &[RangeView],
    ) -> Vec<Move> {
        self.note(now, ranges);
        let is_quiet = self.quiet_until.is_some_and(|until| now < until);
        if is_quiet && servers.iter().all(|server| !server.draining) {
            return Vec::new();
        }
        let mut plan = Plan::new(now, &self.settings, &self.known, servers, ranges);
        let mut moves = plan.drain();
        if !is_quiet {
            let drained = moves.len();
            plan.even_loads(&mut moves);
            plan.even_counts(&mut self.evening, &mut moves);
            if moves.len() > drained {
                self.quiet_until = Some(now + self.settings.interval);
            }
        }
        self.decide(now, &moves);
        moves
    }

    /// The moves off draining servers only.
    pub fn drain(
        &mut self,
        now: Instant,
        servers: &[ServerView],
        ranges: &[RangeView],
    ) -> Vec<Move> {
        self.note(now, ranges);
        let mut plan = Plan::new(now, &self.settings, &self.known, servers, ranges);
        let moves = plan.drain();
        self.decide(now, &moves);
        moves
    }

    fn decide(&mut self, now: Instant, moves: &[Move]) {
        for decided in moves {
            let known = self.known.entry(decided.range).or_default();
            known.decide(now, &decided.to);
        }
    }

    /// Updates the observations, and drops those of removed ranges.
    fn note(&mut self, now: Instant, ranges: &[RangeView]) {
        for range in ranges {
            let known = self.known.entry(range.id).or_default();
            known.note(now, range, &self.settings);
        }
        if self.known.len() > ranges.len() {
            let listed: HashSet<RangeId> = ranges.iter().map(|range| range.id).collect();
            self.known.retain(|id, _| listed.contains(id));
        }
    }
}
