//! The process that writes the log.

use crate::Rule;

use super::{
    Log,
    state::{NUMBERS, Object, State, bit},
};

impl Log {
    pub(super) fn send(&self, state: &mut State) -> Option<()> {
        let number = state.next;
        let first = state.first_unacknowledged();
        if number >= self.bounds.groups || number - first.min(number) >= self.bounds.window {
            return None;
        }
        let needed = (0..number)
            .find(|number| !bit(state.flushed, *number))
            .unwrap_or(number);
        let floor = if self.rules.keep(Rule::FloorOfAcknowledged) {
            needed.min(first)
        } else {
            number
        };
        state.floors[number] = floor;
        state.in_flight |= 1 << number;
        if self.bounds.hedged {
            state.hedges |= 1 << number;
        }
        state.next += 1;
        Some(())
    }

    pub(super) fn land(&self, state: &mut State, number: usize, hedge: bool) -> Option<()> {
        let flying = if hedge {
            &mut state.hedges
        } else {
            &mut state.in_flight
        };
        if !bit(*flying, number) {
            return None;
        }
        *flying &= !(1 << number);
        let object = &mut state.objects[number];
        if *object == Object::Absent
            || (*object == Object::Seal && !self.rules.keep(Rule::PutIfAbsent))
        {
            *object = Object::Group;
            state.created |= 1 << number;
        }
        Some(())
    }

    /// The outcome of a PUT: created, or refused because of a seal. A lost answer is asked for again, so it is never unknown.
    fn learn(&self, state: &State, number: usize) -> Option<bool> {
        if number >= state.next {
            return None;
        }
        if bit(state.created, number) {
            return Some(true);
        }
        // The store answers "already exists" for the own object, when the first answer was lost, and for a seal.
        (state.objects[number] == Object::Seal).then(|| !self.rules.keep(Rule::NonceCompared))
    }

    pub(super) fn acknowledge(&self, state: &mut State) -> Option<()> {
        let number = state.first_unacknowledged();
        if self.learn(state, number)? {
            state.acknowledged |= 1 << number;
        } else {
            state.fenced = true;
        }
        Some(())
    }

    pub(super) fn acknowledge_ahead(&self, state: &mut State, number: usize) -> Option<()> {
        let ahead = number > state.first_unacknowledged() && !bit(state.acknowledged, number);
        if self.rules.keep(Rule::AcknowledgedInOrder) || !ahead || !self.learn(state, number)? {
            return None;
        }
        state.acknowledged |= 1 << number;
        Some(())
    }

    pub(super) fn flush(&self, state: &mut State, range: usize) -> Option<()> {
        if state.holder.is_some() {
            return None;
        }
        state.flushed |= (0..NUMBERS)
            .filter(|number| number % 2 == range && bit(state.acknowledged, *number))
            .fold(0, |groups, number| groups | 1 << number);
        Some(())
    }

    pub(super) fn delete(&self, state: &mut State, number: usize) -> Option<()> {
        if !self.bounds.deletes
            || !bit(state.flushed, number)
            || state.objects[number] != Object::Group
        {
            return None;
        }
        let named = (0..state.first_unacknowledged())
            .any(|later| state.objects[later] == Object::Group && state.floors[later] > number);
        if self.rules.keep(Rule::DeletedBelowFloor) && !named {
            return None;
        }
        state.objects[number] = Object::Absent;
        Some(())
    }
}
