//! A host opens the range: epoch, check in etcd, claim, seals, replay, flush, activation.

use crate::Rule;

use super::{
    Ownership,
    state::{Host, Key, LIVES, Object, Ownership as KeyState, Phase, State, bit},
};

impl Ownership {
    /// The next step of a take-over.
    pub(super) fn take_over(&self, state: &mut State, life: usize) -> Option<()> {
        match state.hosts[life].phase {
            Phase::Idle => self.notice(state, life),
            Phase::Assigned => self.read_epoch(state, life),
            Phase::EpochRead => self.check(state, life),
            Phase::Checked => self.claim(state, life),
            Phase::Claimed => self.replay(state, life),
            Phase::Replayed => self.flush_first(state, life),
            Phase::Flushed => self.activate(state, life),
            _ => None,
        }
    }

    fn notice(&self, state: &mut State, life: usize) -> Option<()> {
        let key = state.key?;
        let host = &mut state.hosts[life];
        if key.owner != life || key.ownership != KeyState::Opening || host.revision == key.revision
        {
            return None;
        }
        *host = Host {
            phase: Phase::Assigned,
            revision: key.revision,
            last: key.last,
            ..*host
        };
        Some(())
    }

    fn read_epoch(&self, state: &mut State, life: usize) -> Option<()> {
        if !self.rules.keep(Rule::EpochReadBeforeCheck) && !state.key_is(state.hosts[life].revision)
        {
            state.hosts[life].phase = Phase::Idle;
            return Some(());
        }
        state.hosts[life].epoch = state.epoch;
        state.hosts[life].phase = Phase::EpochRead;
        Some(())
    }

    fn check(&self, state: &mut State, life: usize) -> Option<()> {
        if !self.rules.keep(Rule::EpochReadBeforeCheck) {
            // The check came first; the epoch is read now.
            state.hosts[life].epoch = state.epoch;
            state.hosts[life].phase = Phase::Checked;
            return Some(());
        }
        let mine =
            state.key_is(state.hosts[life].revision) || !self.rules.keep(Rule::AssignmentChecked);
        state.hosts[life].phase = if mine { Phase::Checked } else { Phase::Idle };
        Some(())
    }

    fn claim(&self, state: &mut State, life: usize) -> Option<()> {
        if state.hosts[life].epoch != state.epoch && self.rules.keep(Rule::ClaimsNextEpoch) {
            state.hosts[life].phase = Phase::Assigned;
            return Some(());
        }
        state.epoch += 1;
        state.holder = life;
        let host = &mut state.hosts[life];
        *host = Host {
            phase: Phase::Claimed,
            epoch: state.epoch,
            rows: state.flushed,
            ..*host
        };
        Some(())
    }

    /// Seals the log of an earlier life at its lowest free number. How several sealers and deletion agree is in `log`.
    pub(super) fn seal(&self, state: &mut State, life: usize, of: usize) -> Option<()> {
        if !bit(state.hosts[life].last, of)
            || state.sealed(of)
            || !self.rules.keep(Rule::SealedBeforeReplay)
        {
            return None;
        }
        let free = state.logs[of]
            .iter_mut()
            .find(|object| **object == Object::Absent)?;
        *free = Object::Seal;
        Some(())
    }

    fn replay(&self, state: &mut State, life: usize) -> Option<()> {
        let mut rows = state.hosts[life].rows;
        for of in (0..LIVES).filter(|of| bit(state.hosts[life].last, *of)) {
            if !state.sealed(of) && self.rules.keep(Rule::SealedBeforeReplay) {
                return None;
            }
            for object in state.logs[of]
                .iter()
                .take_while(|object| **object != Object::Seal)
            {
                if let Object::Group(write) = object {
                    rows |= write;
                }
            }
        }
        state.hosts[life].rows = rows;
        state.hosts[life].phase = Phase::Replayed;
        Some(())
    }

    fn flush_first(&self, state: &mut State, life: usize) -> Option<()> {
        if !self.rules.keep(Rule::FlushedBeforeServing) {
            state.hosts[life].phase = Phase::Flushed;
            return Some(());
        }
        if state.epoch == state.hosts[life].epoch {
            state.flushed |= state.hosts[life].rows;
            state.hosts[life].phase = Phase::Flushed;
        } else {
            self.leave(state, life);
        }
        Some(())
    }

    fn activate(&self, state: &mut State, life: usize) -> Option<()> {
        let mine = state.key_is(state.hosts[life].revision)
            || !self.rules.keep(Rule::ActivationComparesRevision);
        let leased = state.leases[life] || !self.rules.keep(Rule::ActivationComparesLease);
        if !mine || !leased || state.key.is_none() {
            self.leave(state, life);
            return Some(());
        }
        state.revision += 1;
        let revision = state.revision;
        state.key = Some(Key {
            revision,
            owner: life,
            ownership: KeyState::Serving,
            last: 1 << life,
        });
        state.hosts[life].revision = revision;
        state.hosts[life].phase = Phase::Serving;
        Some(())
    }

    /// Forgets the range.
    pub(super) fn leave(&self, state: &mut State, life: usize) {
        state.hosts[life].phase = Phase::Idle;
        state.hosts[life].rows = 0;
    }
}
