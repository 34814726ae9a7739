//! Servers for ranges without an owner.

use super::Plan;
use partita_range::RangeId;
use std::sync::Arc;

impl Plan<'_> {
    /// The ranges with the most load come first, because the others can even out what these leave uneven.
    pub(in super::super) fn place(&mut self) -> Vec<(RangeId, Arc<str>)> {
        let unowned = |index: &usize| self.ranges[*index].owner.is_none();
        let mut waiting: Vec<usize> = (0..self.ranges.len()).filter(unowned).collect();
        waiting.sort_by(|a, b| self.cores(*b).total_cmp(&self.cores(*a)));
        let mut decided = Vec::with_capacity(waiting.len());
        for range in waiting {
            let Some(to) = self.heir(range) else {
                break;
            };
            self.slots[to].load += self.cores(range);
            self.slots[to].ranges.push(range);
            self.slots[to].busy += 1;
            let name = Arc::clone(&self.slots[to].server.name);
            decided.push((self.ranges[range].id, name));
        }
        decided
    }

    /// The least loaded server, except the one that got the range a moment ago, unless it is the only server.
    fn heir(&self, range: usize) -> Option<usize> {
        let known = self.known.get(&self.ranges[range].id);
        let failed = known.and_then(|known| known.decided(self.now, self.settings.cool_down));
        let has_failed = |slot: usize| failed == Some(&self.slots[slot].server.name);
        self.takers().min_by(|&a, &b| {
            let loads = || self.slots[a].compare(&self.slots[b], self.settings);
            has_failed(a).cmp(&has_failed(b)).then_with(loads)
        })
    }
}
