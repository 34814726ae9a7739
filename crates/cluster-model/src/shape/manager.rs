//! What an active manager does: changes of shape, keys, assignments and moves.

use crate::Rule;

use super::{
    Shape,
    state::{Content, Key, KeyState, Manager, Stage, State, VERSIONS, Writer},
};

impl Shape {
    pub(super) fn begin(&self, state: &mut State, manager: usize) -> Option<()> {
        let Manager {
            stage: Stage::Active(number, Content::Before),
            term,
        } = state.managers[manager]
        else {
            return None;
        };
        if state.counts.begins >= self.bounds.begins || number + 1 >= VERSIONS - 3 {
            return None;
        }
        state.counts.begins += 1;
        let created = state.put(number + 1, Content::Begun, Writer::Manager(term));
        let stage = if created {
            self.saved(number + 1, Content::Begun)
        } else {
            Stage::Down
        };
        if stage == Stage::Leading(number + 1) {
            state.request_change(number + 2);
        }
        state.managers[manager].stage = stage;
        Some(())
    }

    /// Decides the change against the host, after a time-out.
    pub(super) fn undo(&self, state: &mut State, manager: usize) -> Option<()> {
        let Manager {
            stage: Stage::Leading(number),
            term,
        } = state.managers[manager]
        else {
            return None;
        };
        let decision = number + 1;
        state.managers[manager].stage =
            if state.put(decision, Content::Before, Writer::Manager(term)) {
                self.saved(decision, Content::Before)
            } else if state.map[decision]?.writer == Writer::Host {
                Stage::Active(decision, Content::After)
            } else {
                Stage::Down
            };
        Some(())
    }

    pub(super) fn see_decision(&self, state: &mut State, manager: usize) -> Option<()> {
        let Stage::Leading(number) = state.managers[manager].stage else {
            return None;
        };
        if state.map[number + 1]?.writer != Writer::Host {
            return None;
        }
        state.managers[manager].stage = Stage::Active(number + 1, Content::After);
        Some(())
    }

    fn in_term(&self, state: &State, manager: usize) -> bool {
        state.term == state.managers[manager].term || !self.rules.keep(Rule::TermCompared)
    }

    /// One transaction replaces the keys of the ranges before the change by those of the ranges after it.
    pub(super) fn sync_keys(&self, state: &mut State, manager: usize) -> Option<()> {
        let Stage::Active(_, Content::After) = state.managers[manager].stage else {
            return None;
        };
        let old =
            state.keys[*self.bounds.before.first()?].filter(|_| self.in_term(state, manager))?;
        state.revision += 1;
        let key = Key {
            owner: old.owner,
            revision: state.revision,
            state: KeyState::Serving,
            last: 1 << old.owner,
        };
        for range in self.bounds.before {
            state.keys[*range] = None;
        }
        for range in self.bounds.after {
            state.keys[*range] = Some(key);
        }
        Some(())
    }

    /// Assigns a range whose owner's lease is gone, or that was released.
    pub(super) fn assign(
        &self,
        state: &mut State,
        manager: usize,
        range: usize,
        to: usize,
    ) -> Option<()> {
        let content = match state.managers[manager].stage {
            Stage::Active(_, content) => content,
            // A change is not decided yet.
            Stage::Leading(_) if !self.rules.keep(Rule::AssignedAfterDecision) => Content::Before,
            _ => return None,
        };
        let in_step = self.ranges(content).contains(&range)
            || !self.rules.keep(Rule::KeysInStepBeforeAssigned);
        let key = state.keys[range]?;
        let free = !state.hosts[key.owner].leased || key.state == KeyState::Released;
        let same = key.owner == to && key.state != KeyState::Released;
        if !self.in_term(state, manager) || !in_step || !state.hosts[to].leased || !free || same {
            return None;
        }
        state.revision += 1;
        let last = match key.state {
            KeyState::Released => 0,
            KeyState::Serving => 1 << key.owner,
            KeyState::Opening => key.last,
        };
        state.keys[range] = Some(Key {
            owner: to,
            revision: state.revision,
            state: KeyState::Opening,
            last,
        });
        Some(())
    }

    pub(super) fn ask_move(&self, state: &mut State, manager: usize, range: usize) -> Option<()> {
        let Stage::Active(_, Content::Before) = state.managers[manager].stage else {
            return None;
        };
        if state.counts.moves >= self.bounds.moves {
            return None;
        }
        state.counts.moves += 1;
        state.move_request = Some(range);
        Some(())
    }
}
