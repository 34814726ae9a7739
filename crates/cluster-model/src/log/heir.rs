//! A server that takes over: it seals the log, claims the manifest and replays.

use crate::Rule;

use super::{
    Log,
    state::{Heir, NUMBERS, Object, State},
};

impl Log {
    /// The floor that a sealer works from. Numbers below it were released by the writer and are allowed to be absent.
    fn sealing_floor(&self, state: &State) -> usize {
        if self.rules.keep(Rule::SealAboveFloor) {
            state.floor()
        } else {
            0
        }
    }

    /// The log is sealed when the first number at or above the floor that is not a group is a seal.
    pub(super) fn list(&self, state: &mut State, heir: usize) -> Option<()> {
        let first = (self.sealing_floor(state)..NUMBERS)
            .find(|number| state.objects[*number] != Object::Group)?;
        state.heirs[heir] =
            if state.objects[first] == Object::Seal || !self.rules.keep(Rule::SealedBeforeReplay) {
                Heir::Sealed
            } else {
                Heir::Listed { free: first }
            };
        Some(())
    }

    pub(super) fn put_seal(&self, state: &mut State, heir: usize) -> Option<()> {
        let Heir::Listed { free } = state.heirs[heir] else {
            return None;
        };
        if state.objects[free] == Object::Absent {
            state.objects[free] = Object::Seal;
        }
        state.heirs[heir] = if self.rules.keep(Rule::ListedAfterSeal) {
            Heir::Start
        } else {
            Heir::Sealed
        };
        Some(())
    }

    pub(super) fn claim(&self, state: &mut State, heir: usize) {
        state.holder = Some(heir);
        state.heirs[heir] = Heir::Claimed {
            flushed: state.flushed,
        };
    }

    pub(super) fn replay(&self, state: &mut State, heir: usize) -> Option<()> {
        let Heir::Claimed { flushed } = state.heirs[heir] else {
            return None;
        };
        let from = if self.rules.keep(Rule::LowSealsIgnored) {
            self.sealing_floor(state)
        } else {
            0
        };
        let end = (from..NUMBERS)
            .find(|number| state.objects[*number] == Object::Seal)
            .unwrap_or(NUMBERS);
        let replayed = (0..end)
            .filter(|number| state.objects[*number] == Object::Group)
            .fold(0, |groups, number| groups | 1 << number);
        state.heirs[heir] = Heir::Done {
            recovered: flushed | replayed,
        };
        if state.holder == Some(heir) {
            state.flushed |= replayed;
        }
        Some(())
    }
}
