//! What happens to processes and to etcd.

use super::{
    Ownership,
    state::{Host, LIVES, Object, Phase, State},
};

impl Ownership {
    pub(super) fn close_gate(&self, state: &mut State, life: usize) -> Option<()> {
        if state.leases[life] {
            return None;
        }
        state.hosts[life].valid = false;
        Some(())
    }

    /// The gate counts from the sending of a keepalive and etcd from its answer, so the gate has closed by now.
    pub(super) fn expire_lease(&self, state: &mut State, life: usize) -> Option<()> {
        if !state.leases[life] {
            return None;
        }
        state.leases[life] = false;
        if !self.bounds.clock_broken {
            state.hosts[life].valid = false;
        }
        Some(())
    }

    /// An operator revokes a lease whose holder may be alive.
    pub(super) fn expel(&self, state: &mut State, life: usize) -> Option<()> {
        if state.counts.expels >= self.bounds.expels
            || !state.leases[life]
            || !state.hosts[life].alive
        {
            return None;
        }
        state.counts.expels += 1;
        state.leases[life] = false;
        Some(())
    }

    pub(super) fn wipe_etcd(&self, state: &mut State) -> Option<()> {
        if state.counts.wipes >= self.bounds.wipes {
            return None;
        }
        state.counts.wipes += 1;
        state.leases = [false; LIVES];
        state.key = None;
        state.term = 0;
        Some(())
    }

    pub(super) fn crash(&self, state: &mut State, life: usize) -> Option<()> {
        if state.counts.crashes >= self.bounds.crashes {
            return None;
        }
        state.counts.crashes += 1;
        let host = state.hosts[life];
        let put = host
            .put
            .filter(|put| state.logs[life][put.number] == Object::Absent);
        state.hosts[life] = Host {
            phase: Phase::Over,
            put,
            next: host.next,
            ..Host::UNBORN
        };
        if state.read.is_some_and(|read| read.life == life) {
            state.read = None;
        }
        Some(())
    }

    /// A process begins a new life: after a restart, whose predecessor the lock file proves to be dead and whose lease it
    /// revokes, or after it lost its lease.
    pub(super) fn join(&self, state: &mut State, life: usize) -> Option<()> {
        let earlier = life.checked_sub(2)?;
        let unborn =
            state.hosts[life].phase == Phase::Unborn && state.counts.joins < self.bounds.joins;
        if !unborn || (state.leases[earlier] && state.hosts[earlier].alive) {
            return None;
        }
        state.leases[earlier] = false;
        state.counts.joins += 1;
        let host = &mut state.hosts[earlier];
        if host.alive {
            host.phase = Phase::Over;
            host.put = host.put.filter(|put| !put.learned);
        }
        state.leases[life] = true;
        state.hosts[life] = Host {
            phase: Phase::Idle,
            alive: true,
            valid: true,
            ..Host::UNBORN
        };
        Some(())
    }

    /// A host notices that its lease is gone and closes the range.
    pub(super) fn give_up(&self, state: &mut State, life: usize) -> Option<()> {
        if state.leases[life] {
            return None;
        }
        state.hosts[life].phase = Phase::Over;
        Some(())
    }
}
