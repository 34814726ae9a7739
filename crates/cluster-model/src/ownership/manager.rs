//! The managers: elected by etcd, they assign the range. A manager reads first and writes later, so it can act on old news.

use crate::Rule;

use super::{
    Ownership,
    state::{Key, LIVES, Manager, Object, Ownership as KeyState, Phase, Seen, Set, State, bit},
};

impl Ownership {
    pub(super) fn elect(&self, state: &mut State, manager: usize) -> Option<()> {
        if state.term != 0 || state.counts.terms >= self.bounds.terms {
            return None;
        }
        state.counts.terms += 1;
        state.term = state.counts.terms;
        state.managers[manager] = Manager {
            term: state.term,
            seen: None,
        };
        Some(())
    }

    pub(super) fn end_term(&self, state: &mut State) -> Option<()> {
        if state.term == 0 || state.counts.terms >= self.bounds.terms {
            return None;
        }
        state.term = 0;
        Some(())
    }

    pub(super) fn look(&self, state: &mut State, manager: usize) -> Option<()> {
        if state.managers[manager].term == 0 {
            return None;
        }
        let seen = match state.key {
            Some(key) if !self.assignable(state, key) => return None,
            Some(_) => Seen {
                key: state.key,
                dirty: 0,
            },
            None => Seen {
                key: None,
                dirty: self.dirty_logs(state),
            },
        };
        state.managers[manager].seen = Some(seen);
        Some(())
    }

    /// etcd came back empty: the logs that can have groups which the data files lack.
    fn dirty_logs(&self, state: &State) -> Set {
        (0..LIVES)
            .filter(|life| {
                let known = state.has_groups(*life) || state.hosts[*life].phase != Phase::Unborn;
                let unsealed = !state.sealed(*life);
                known
                    && (unsealed
                        || (self.rules.keep(Rule::SealedLogsReplayedAfterWipe)
                            && state.has_groups(*life)))
            })
            .fold(0, |lives, life| lives | 1 << life)
    }

    /// The comparison in the assignment's transaction: the old owner's life is over, or it released the range.
    fn assignable(&self, state: &State, key: Key) -> bool {
        let over = if self.rules.keep(Rule::OldLifeNotName) {
            !state.leases[key.owner]
        } else {
            // Lives of one process have the same name.
            (0..LIVES)
                .filter(|life| life % 2 == key.owner % 2)
                .all(|life| !state.leases[life])
        };
        let early =
            !self.rules.keep(Rule::OpeningNotReassigned) && key.ownership == KeyState::Opening;
        over || key.ownership == KeyState::Released || early || !self.rules.keep(Rule::OldOwnerGone)
    }

    /// After a revoke that is not the holder's own, and in an empty etcd, nothing is assigned before TTL and margin passed.
    fn may_assign_yet(&self, state: &State) -> bool {
        // Waiting does not help against a clock that is slow without bound.
        let waits = self.rules.keep(Rule::WaitsForDeadline) && !self.bounds.clock_broken;
        !waits || (0..LIVES).all(|life| state.leases[life] || !state.hosts[life].valid)
    }

    pub(super) fn assign(&self, state: &mut State, manager: usize, to: usize) -> Option<()> {
        let Manager { term, seen } = state.managers[manager];
        let Seen { key: seen, dirty } = seen?;
        if state.counts.assignments >= self.bounds.assignments
            || !state.leases[to]
            || !self.may_assign_yet(state)
        {
            return None;
        }
        if seen.is_some_and(|key| key.owner == to && key.ownership != KeyState::Released) {
            return None;
        }
        if !self.bounds.repeats {
            state.managers[manager].seen = None;
        }
        let in_term = state.term == term || !self.rules.keep(Rule::TermCompared);
        let unchanged = state.key.map(|key| key.revision) == seen.map(|key| key.revision);
        if !in_term || (!unchanged && self.rules.keep(Rule::AssignmentComparesRevision)) {
            return Some(());
        }
        let last = match seen {
            None => dirty,
            Some(key) if !self.assignable(state, key) => return Some(()),
            Some(key) => match key.ownership {
                KeyState::Serving => 1 << key.owner,
                KeyState::Opening => key.last,
                KeyState::Released => 0,
            },
        };
        state.revision += 1;
        state.counts.assignments += 1;
        state.key = Some(Key {
            revision: state.revision,
            owner: to,
            ownership: KeyState::Opening,
            last,
        });
        Some(())
    }

    /// Deletes the log of a life that no range needs. Its seal stays.
    pub(super) fn collect(&self, state: &mut State, life: usize) -> Option<()> {
        let key = state.key?;
        let needed = bit(key.last, life) || key.ownership != KeyState::Serving;
        if !self.bounds.collects || state.leases[life] || needed {
            return None;
        }
        let seals_too = !self.rules.keep(Rule::SealsKept);
        for object in &mut state.logs[life] {
            if matches!(object, Object::Group(_)) || seals_too {
                *object = Object::Absent;
            }
        }
        Some(())
    }
}
