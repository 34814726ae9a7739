//! A host serves the range: writes, reads, the gate, and giving the range away.

use crate::Rule;

use super::{
    Ownership,
    state::{NUMBERS, Object, Ownership as KeyState, Phase, Put, Read, State},
};

impl Ownership {
    /// Whether an answer may leave: the lease of the life under which the range was opened is valid.
    fn gate(&self, state: &State, life: usize) -> bool {
        let of_process = |other: usize| {
            other % 2 == life % 2 && state.hosts[other].alive && state.hosts[other].valid
        };
        state.hosts[life].valid
            || (!self.rules.keep(Rule::GateOfOpeningLife) && (0..state.hosts.len()).any(of_process))
    }

    pub(super) fn start_put(&self, state: &mut State, life: usize) -> Option<()> {
        let host = &mut state.hosts[life];
        if host.put.is_some()
            || state.counts.writes >= self.bounds.writes
            || host.next >= NUMBERS - 1
        {
            return None;
        }
        let write = 1 << state.counts.writes;
        state.counts.writes += 1;
        let learned = !self.rules.keep(Rule::DurableBeforeAcknowledged);
        host.put = Some(Put {
            write,
            number: host.next,
            learned,
        });
        if learned {
            host.rows |= write;
        }
        Some(())
    }

    pub(super) fn land_put(&self, state: &mut State, life: usize) -> Option<()> {
        let Put { write, number, .. } = state.hosts[life].put?;
        let object = &mut state.logs[life][number];
        let free = *object == Object::Absent
            || (*object == Object::Seal && !self.rules.keep(Rule::PutIfAbsent));
        if !free {
            return None;
        }
        *object = Object::Group(write);
        if !state.hosts[life].alive {
            state.hosts[life].put = None;
        }
        Some(())
    }

    pub(super) fn learn_put(&self, state: &mut State, life: usize) -> Option<()> {
        let put = state.hosts[life].put.filter(|put| !put.learned)?;
        let object = state.logs[life][put.number];
        let host = &mut state.hosts[life];
        match object {
            Object::Absent => return None,
            Object::Group(write) => {
                host.rows |= write;
                host.put = Some(Put {
                    learned: true,
                    ..put
                });
            }
            Object::Seal => {
                host.put = None;
                host.phase = Phase::Over;
            }
        }
        Some(())
    }

    pub(super) fn acknowledge(&self, state: &mut State, life: usize) -> Option<()> {
        let put = state.hosts[life].put.filter(|put| put.learned)?;
        if self.rules.keep(Rule::AcknowledgementsGated) && !self.gate(state, life) {
            return None;
        }
        state.acknowledged_past_seal |= state.logs[life][..=put.number].contains(&Object::Seal);
        state.acknowledged |= put.write;
        let host = &mut state.hosts[life];
        host.next += 1;
        host.put = None;
        Some(())
    }

    /// Writes the rows to data files, which the manifest's epoch prevents after another host claimed it.
    pub(super) fn flush(&self, state: &mut State, life: usize, then: Phase) -> Option<()> {
        let host = &mut state.hosts[life];
        if state.epoch == host.epoch {
            state.flushed |= host.rows;
            host.phase = then;
        } else {
            host.phase = Phase::Over;
        }
        Some(())
    }

    pub(super) fn freeze(&self, state: &mut State, life: usize) -> Option<()> {
        if state.counts.moves >= self.bounds.moves || state.hosts[life].put.is_some() {
            return None;
        }
        state.counts.moves += 1;
        state.hosts[life].phase = Phase::Frozen;
        Some(())
    }

    pub(super) fn release(&self, state: &mut State, life: usize) -> Option<()> {
        let serving_revision = state.hosts[life].revision;
        self.leave(state, life);
        if let Some(key) = &mut state.key
            && (key.revision == serving_revision || !self.rules.keep(Rule::ReleaseComparesRevision))
        {
            state.revision += 1;
            key.revision = state.revision;
            key.ownership = KeyState::Released;
            key.last = 0;
        }
        Some(())
    }

    pub(super) fn begin_read(&self, state: &mut State, life: usize) -> Option<()> {
        let early = !self.rules.keep(Rule::GateAfterWork);
        if state.read.is_some()
            || state.counts.reads >= self.bounds.reads
            || (early && !self.gate(state, life))
        {
            return None;
        }
        state.counts.reads += 1;
        let must_see = state.acknowledged | state.observed;
        // A keepalive that was sent before the read began counts when the rule is dropped.
        let confirmed = !self.bounds.confirmed
            || (!self.rules.keep(Rule::ConfirmedAfterBegin) && state.hosts[life].valid);
        state.read = Some(Read {
            life,
            must_see,
            value: None,
            confirmed,
        });
        Some(())
    }

    pub(super) fn confirm_read(&self, state: &mut State) -> Option<()> {
        let read = state.read.as_mut().filter(|read| state.leases[read.life])?;
        read.confirmed = true;
        Some(())
    }

    pub(super) fn look_up_read(&self, state: &mut State) -> Option<()> {
        let read = state.read.filter(|read| read.value.is_none())?;
        let host = &state.hosts[read.life];
        if !matches!(host.phase, Phase::Serving | Phase::Frozen) {
            state.read = None;
            return Some(());
        }
        let unsynced = host
            .put
            .filter(|_| !self.rules.keep(Rule::OnlyDurableRowsRead))
            .map_or(0, |put| put.write);
        state.read = Some(Read {
            value: Some(host.rows | unsynced),
            ..read
        });
        Some(())
    }

    pub(super) fn answer_read(&self, state: &mut State) -> Option<()> {
        let read = state.read?;
        let value = read.value?;
        let checked = self.rules.keep(Rule::ReadsGated) && self.rules.keep(Rule::GateAfterWork);
        if !read.confirmed || (checked && !self.gate(state, read.life)) {
            return None;
        }
        state.stale_read |= value & read.must_see != read.must_see;
        state.observed |= value;
        state.read = None;
        Some(())
    }

    /// The client goes away, so that another read can begin.
    pub(super) fn drop_read(&self, state: &mut State) -> Option<()> {
        if self.bounds.reads < 2 {
            return None;
        }
        state.read = None;
        Some(())
    }
}
