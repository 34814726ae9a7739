//! The hosts: they check, execute, cache and reply. And how tenures end and begin.

use crate::Rule;

use super::{
    Forwarding,
    state::{Attempt, Cached, Kind, Reply, Set, Stage, State},
};

impl Forwarding {
    pub(super) fn arrive(&self, state: &mut State, operation: usize, attempt: usize) -> Option<()> {
        let Attempt::InFlight {
            tenure: named,
            host,
        } = state.operations[operation].attempts[attempt]
        else {
            return None;
        };
        let served = state.serving[host]
            .filter(|tenure| *tenure == named || !self.rules.keep(Rule::TenureNamed));
        match served {
            None => self.put_reply(state, operation, attempt, Reply::NotMine(state.tenure)),
            Some(tenure) => {
                let value = match self.bounds.operations[operation] {
                    Kind::Read => self.look_up(state, host, tenure),
                    Kind::Write => 1 << operation,
                };
                state.operations[operation].attempts[attempt] = Attempt::Running {
                    tenure,
                    host,
                    value,
                };
            }
        }
        Some(())
    }

    /// A reply to an attempt that the front has given up is dropped.
    fn put_reply(&self, state: &mut State, operation: usize, attempt: usize, reply: Reply) {
        let of = &mut state.operations[operation];
        let awaited = of.stage == Stage::Sent && of.sent == attempt + 1;
        of.attempts[attempt] = if awaited {
            Attempt::Replied(reply)
        } else {
            Attempt::Over
        };
    }

    /// From the cache, else from the data files and the memtables.
    fn look_up(&self, state: &State, host: usize, tenure: u8) -> Set {
        let usable =
            |cached: &Cached| cached.tenure == tenure || !self.rules.keep(Rule::CacheByTenure);
        state.caches[host]
            .filter(usable)
            .map_or(state.row, |cached| cached.value)
    }

    /// The group of a write lands in the log. After the next tenure was opened it would find a seal.
    pub(super) fn make_durable(
        &self,
        state: &mut State,
        operation: usize,
        attempt: usize,
    ) -> Option<()> {
        let Attempt::Running {
            tenure,
            host,
            value,
        } = state.operations[operation].attempts[attempt]
        else {
            return None;
        };
        if self.bounds.operations[operation] == Kind::Read || tenure != state.tenure {
            return None;
        }
        state.row |= value;
        state.operations[operation].applied += 1;
        state.operations[operation].attempts[attempt] = Attempt::Durable { tenure, host };
        if state.serving[host] == Some(tenure) {
            state.caches[host] = Some(Cached {
                tenure,
                value: state.row,
            });
        }
        Some(())
    }

    /// The answer leaves only under the lease of the tenure. A write that was submitted is unknown without it.
    pub(super) fn reply(&self, state: &mut State, operation: usize, attempt: usize) -> Option<()> {
        let kind = self.bounds.operations[operation];
        let reply = match (kind, state.operations[operation].attempts[attempt]) {
            (
                Kind::Read,
                Attempt::Running {
                    tenure,
                    host,
                    value,
                },
            ) => {
                self.fill_cache(state, host, tenure, value);
                if state.serving[host] == Some(tenure) {
                    Reply::Value(value)
                } else {
                    Reply::NotMine(state.tenure)
                }
            }
            (_, Attempt::Durable { tenure, host }) if state.serving[host] == Some(tenure) => {
                Reply::Written
            }
            // A living owner waits for its write.
            (_, Attempt::Running { tenure, host, .. }) if state.serving[host] == Some(tenure) => {
                return None;
            }
            _ if self.rules.keep(Rule::SubmittedWriteIsUnknown) => Reply::Unknown,
            _ => Reply::NotMine(state.tenure),
        };
        self.put_reply(state, operation, attempt, reply);
        Some(())
    }

    fn fill_cache(&self, state: &mut State, host: usize, tenure: u8, value: Set) {
        let tenure = if self.rules.keep(Rule::CacheFilledByTenure) {
            Some(tenure)
        } else {
            state.serving[host]
        };
        let Some(tenure) = tenure else { return };
        let cache = &mut state.caches[host];
        match cache {
            Some(cached) if cached.tenure > tenure => {}
            // A write of the same tenure has updated the row meanwhile.
            Some(cached) if cached.tenure == tenure => cached.value |= value,
            _ => *cache = Some(Cached { tenure, value }),
        }
    }

    /// A move ends a tenure after its writes have ended. A failure ends it at once; the process may be alive.
    pub(super) fn end_tenure(&self, state: &mut State, moves: bool) -> Option<()> {
        let owner = state.owner()?;
        let writing =
            state
                .operations
                .iter()
                .zip(self.bounds.operations)
                .any(|(operation, kind)| {
                    let runs = |attempt: &Attempt| {
                        matches!(attempt, Attempt::Running { .. } | Attempt::Durable { .. })
                    };
                    *kind == Kind::Write && operation.attempts.iter().any(runs)
                });
        if state.transfers >= self.bounds.transfers || (moves && writing) {
            return None;
        }
        state.transfers += 1;
        state.serving[owner] = None;
        for operation in &mut state.operations {
            operation.quiet = false;
        }
        Some(())
    }

    pub(super) fn open(&self, state: &mut State, host: usize) -> Option<()> {
        if state.owner().is_some() {
            return None;
        }
        state.tenure += 1;
        state.serving[host] = Some(state.tenure);
        Some(())
    }
}
