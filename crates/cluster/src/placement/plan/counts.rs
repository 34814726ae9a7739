//! Moves of idle ranges that even the counts.

use super::{Move, MoveReason, Plan};
use std::sync::Arc;

impl Plan<'_> {
    /// Evens the counts of the servers in `evening`. A server is added when its count is further from the mean than the
    /// spread, and stays until its count is the mean: without this difference each split would cause a move.
    pub(in super::super) fn even_counts(
        &mut self,
        evening: &mut Vec<Arc<str>>,
        moves: &mut Vec<Move>,
    ) {
        let takers: Vec<usize> = self.takers().collect();
        let total: usize = takers.iter().map(|slot| self.count(*slot)).sum();
        let mean = total as f64 / takers.len().max(1) as f64;
        let (low, high) = (mean.floor() as usize, mean.ceil() as usize);
        let mut uneven: Vec<usize> = takers
            .into_iter()
            .filter(|&slot| {
                let count = self.count(slot);
                let far = (count as f64 - mean).abs() > self.settings.count_spread as f64;
                let evens = evening.contains(&self.slots[slot].server.name);
                far || evens && (count < low || count > high)
            })
            .collect();
        *evening = uneven
            .iter()
            .map(|slot| Arc::clone(&self.slots[*slot].server.name))
            .collect();
        uneven.sort_by(|a, b| {
            let off = |slot: usize| (self.count(slot) as f64 - mean).abs();
            off(*b).total_cmp(&off(*a))
        });
        if uneven.is_empty() {
            return;
        }
        let idle: Vec<Option<usize>> = (0..self.slots.len())
            .map(|slot| self.idle_range(slot))
            .collect();
        for slot in uneven {
            if self.budget(moves) == 0 {
                return;
            }
            let found = match self.count(slot) > high {
                true => self.shed(slot, &idle),
                false => self.fill(slot, &idle),
            };
            if let Some((range, from, to)) = found {
                moves.push(self.decide(range, from, to, MoveReason::Count));
            }
        }
    }

    fn count(&self, slot: usize) -> usize {
        self.slots[slot].ranges.len()
    }

    /// An idle range of a server with many, and the server with the fewest.
    fn shed(&self, from: usize, idle: &[Option<usize>]) -> Option<(usize, usize, usize)> {
        let to = self
            .takers()
            .filter(|&to| self.may_move(from, to))
            .min_by_key(|&to| self.count(to))?;
        Some((idle[from]?, from, to))
    }

    /// An idle range for a server with few, from the server with the most.
    fn fill(&self, to: usize, idle: &[Option<usize>]) -> Option<(usize, usize, usize)> {
        self.takers()
            .filter(|&from| self.may_move(from, to))
            .filter_map(|from| Some((idle[from]?, from, to)))
            .max_by_key(|(_, from, _)| self.count(*from))
    }

    /// Whether a move between the two evens their counts, and neither takes part in another move.
    fn may_move(&self, from: usize, to: usize) -> bool {
        self.slots[from].busy == 0
            && self.slots[to].busy == 0
            && self.count(to) + 2 <= self.count(from)
            && self.count(to) < self.settings.ranges_max
    }

    /// The idle range of a server with the least load, if it has one that may be moved.
    fn idle_range(&self, slot: usize) -> Option<usize> {
        let ranges = self.slots[slot].ranges.iter().copied();
        ranges
            .filter(|range| self.facts[*range].is_movable && self.facts[*range].is_idle)
            .min_by(|a, b| self.cores(*a).total_cmp(&self.cores(*b)))
    }
}
