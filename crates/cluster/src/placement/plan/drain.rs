//! Moves off draining servers.

use super::{Move, MoveReason, Plan};

impl Plan<'_> {
    /// The next ranges of each draining server, those with the least load first: they are the quickest, and the others
    /// may lose load meanwhile. A range that changes now is moved in a later round.
    pub(in super::super) fn drain(&mut self) -> Vec<Move> {
        let mut moves = Vec::new();
        for from in 0..self.slots.len() {
            if !self.slots[from].server.draining {
                continue;
            }
            let (changing, mut waiting): (Vec<usize>, Vec<usize>) = self.slots[from]
                .ranges
                .iter()
                .partition(|range| self.ranges[**range].changing);
            waiting.sort_by(|a, b| self.cores(*a).total_cmp(&self.cores(*b)));
            let under_way = changing.len() + self.slots[from].busy;
            let room = self.settings.drains_at_once.saturating_sub(under_way);
            for range in waiting.into_iter().take(room) {
                let target = self
                    .takers()
                    .min_by(|&a, &b| self.slots[a].compare(&self.slots[b], self.settings));
                if let Some(to) = target {
                    moves.push(self.decide(range, from, to, MoveReason::Drain));
                }
            }
        }
        moves
    }
}
