//! Moves off busy servers.

use super::{Move, MoveReason, Plan};

impl Plan<'_> {
    /// Moves ranges from the busiest servers to the least loaded.
    pub(in super::super) fn even_loads(&mut self, moves: &mut Vec<Move>) {
        let mut sources: Vec<usize> = self.takers().collect();
        let total: f64 = sources.iter().map(|slot| self.slots[*slot].load).sum();
        let mean = total / sources.len().max(1) as f64;
        sources.sort_by(|a, b| self.slots[*b].load.total_cmp(&self.slots[*a].load));
        for from in sources {
            let load = self.slots[from].load;
            if self.budget(moves) == 0 || load <= mean * self.settings.busy_ratio {
                return;
            }
            if self.slots[from].busy > 0 {
                continue;
            }
            let Some(to) = self.least_loaded(from) else {
                return;
            };
            if load - self.slots[to].load <= self.settings.busy_cores {
                return;
            }
            if let Some(range) = self.best_range(from, to, mean) {
                moves.push(self.decide(range, from, to, MoveReason::Load));
            }
        }
    }

    /// The least loaded server that takes part in no move and has room.
    fn least_loaded(&self, from: usize) -> Option<usize> {
        self.takers()
            .filter(|&to| {
                let slot = &self.slots[to];
                to != from && slot.busy == 0 && slot.ranges.len() < self.settings.ranges_max
            })
            .min_by(|&a, &b| self.slots[a].compare(&self.slots[b], self.settings))
    }

    /// The range whose move lowers the load of the busier of the two servers the most.
    fn best_range(&self, from: usize, to: usize, mean: f64) -> Option<usize> {
        let (source, target) = (self.slots[from].load, self.slots[to].load);
        let gain = |range: usize| {
            let cores = self.cores(range);
            source - (source - cores).max(target + cores)
        };
        let most = source * self.settings.range_share_max;
        let ranges = self.slots[from].ranges.iter().copied();
        ranges
            .filter(|range| self.facts[*range].is_movable && self.cores(*range) <= most)
            .max_by(|a, b| gain(*a).total_cmp(&gain(*b)))
            .filter(|range| gain(*range) >= mean * self.settings.gain_min)
    }
}
