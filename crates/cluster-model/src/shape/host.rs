//! A host: take-over, writes and moves.

use crate::Rule;

use super::{
    Shape,
    state::{KeyState, Phase, Put, State, WRITES_OF},
};

impl Shape {
    pub(super) fn expire_lease(&self, state: &mut State, host: usize) -> Option<()> {
        if state.counts.expiries >= self.bounds.expiries || !state.hosts[host].leased {
            return None;
        }
        state.counts.expiries += 1;
        state.hosts[host].leased = false;
        state.hosts[host].valid = false;
        Some(())
    }

    pub(super) fn notice(&self, state: &mut State, host: usize, range: usize) -> Option<()> {
        let key =
            state.keys[range].filter(|key| key.owner == host && key.state == KeyState::Opening)?;
        let host = &mut state.hosts[host];
        if host.revisions[range] == key.revision {
            return None;
        }
        host.revisions[range] = key.revision;
        host.phases[range] = Phase::Assigned;
        Some(())
    }

    /// Seals the log of the last owner, replays it and flushes.
    pub(super) fn open(&self, state: &mut State, host: usize, range: usize) -> Option<()> {
        let key =
            state.keys[range].filter(|key| key.revision == state.hosts[host].revisions[range]);
        let Some(key) = key else {
            state.hosts[host].phases[range] = Phase::Closed;
            return Some(());
        };
        for other in (0..2).filter(|other| key.last >> other & 1 == 1) {
            state.hosts[other].sealed = true;
            state.flushed[range] |= state.hosts[other].log[range];
        }
        state.hosts[host].rows[range] = state.flushed[range];
        state.hosts[host].phases[range] = Phase::Opened;
        Some(())
    }

    pub(super) fn activate(&self, state: &mut State, host: usize, range: usize) -> Option<()> {
        let revision = state.hosts[host].revisions[range];
        let leased = state.hosts[host].leased;
        match state.keys[range]
            .as_mut()
            .filter(|key| leased && key.revision == revision)
        {
            Some(key) => {
                state.revision += 1;
                key.revision = state.revision;
                key.state = KeyState::Serving;
                key.last = 1 << host;
                state.hosts[host].revisions[range] = state.revision;
                state.hosts[host].phases[range] = Phase::Serving;
            }
            None => state.hosts[host].phases[range] = Phase::Closed,
        }
        Some(())
    }

    pub(super) fn start_put(&self, state: &mut State, host: usize, range: usize) -> Option<()> {
        let write = 1 << state.counts.writes;
        let host = &mut state.hosts[host];
        if host.put.is_some()
            || state.counts.writes >= self.bounds.writes
            || WRITES_OF[range] & write == 0
        {
            return None;
        }
        state.counts.writes += 1;
        host.put = Some(Put {
            range,
            write,
            durable: false,
        });
        Some(())
    }

    /// The group lands, or finds a seal: then the host closes everything.
    pub(super) fn land_put(&self, state: &mut State, host: usize) -> Option<()> {
        let host = &mut state.hosts[host];
        let put = host.put.filter(|put| !put.durable)?;
        if host.sealed {
            host.close_all();
            return Some(());
        }
        host.log[put.range] |= put.write;
        host.rows[put.range] |= put.write;
        host.put = Some(Put {
            durable: true,
            ..put
        });
        Some(())
    }

    pub(super) fn acknowledge(&self, state: &mut State, host: usize) -> Option<()> {
        let host = &mut state.hosts[host];
        let put = host.put.filter(|put| put.durable && host.valid)?;
        host.put = None;
        state.acknowledged |= put.write;
        Some(())
    }

    /// A manager asked for the range, perhaps long ago. A range that a change has frozen is not given away.
    pub(super) fn flush_for_move(&self, state: &mut State, host: usize) -> Option<()> {
        let range = state.move_request?;
        let host = &mut state.hosts[host];
        let frozen = host.phases[range] == Phase::Frozen && !self.rules.keep(Rule::FrozenNotMoved);
        if !(host.phases[range] == Phase::Serving || frozen)
            || host.put.is_some_and(|put| put.range == range)
        {
            return None;
        }
        state.move_request = None;
        state.flushed[range] |= host.rows[range];
        host.phases[range] = Phase::Releasing;
        Some(())
    }

    pub(super) fn release(&self, state: &mut State, host: usize, range: usize) -> Option<()> {
        let host = &mut state.hosts[host];
        host.phases[range] = Phase::Closed;
        if let Some(key) = &mut state.keys[range]
            && key.revision == host.revisions[range]
        {
            state.revision += 1;
            key.revision = state.revision;
            key.state = KeyState::Released;
        }
        Some(())
    }
}
