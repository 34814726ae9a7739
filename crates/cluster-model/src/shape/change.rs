//! A host changes the shape: freeze, copy, decide, serve or thaw.

use crate::Rule;

use super::{
    Shape,
    state::{
        Change, ChangeRequest, Content, Decision, Host, Phase, Record, State, VERSIONS, Writer,
    },
};

impl Shape {
    pub(super) fn freeze(&self, state: &mut State, host: usize) -> Option<()> {
        let ChangeRequest {
            decision,
            revisions,
        } = state.change_request?;
        let before = self.bounds.before;
        let host = &mut state.hosts[host];
        let same = |range: &usize| {
            host.revisions[*range] == revisions[*range] || !self.rules.keep(Rule::ChangeNamesTenure)
        };
        let served = before
            .iter()
            .filter(|range| host.phases[**range] == Phase::Serving && same(range))
            .count();
        let ready =
            served == before.len() || (served > 0 && !self.rules.keep(Rule::ChangeOnOneHost));
        let writing = host.put.is_some_and(|put| before.contains(&put.range))
            && self.rules.keep(Rule::WritesEndBeforeCopy);
        if !ready || writing || host.change != Change::None || host.decision != Decision::None {
            return None;
        }
        state.change_request = None;
        for range in before {
            if host.phases[*range] == Phase::Serving {
                host.phases[*range] = Phase::Frozen;
            }
        }
        host.change = Change::Frozen(decision);
        Some(())
    }

    /// One group that has the rows of the new ranges. The clone of the data files is part of it here.
    pub(super) fn copy(&self, state: &mut State, host: usize) -> Option<()> {
        let host = &mut state.hosts[host];
        let Change::Frozen(decision) = host.change else {
            return None;
        };
        if host.sealed {
            host.close_all();
            return Some(());
        }
        let rows = self
            .bounds
            .before
            .iter()
            .fold(0, |rows, range| rows | host.rows[*range]);
        for range in self.bounds.after {
            host.log[*range] = rows;
            host.rows[*range] = rows;
        }
        host.change = Change::Copied(decision);
        Some(())
    }

    pub(super) fn send_decision(&self, state: &mut State, host: usize) -> Option<()> {
        let host = &mut state.hosts[host];
        let decision = match host.change {
            Change::Copied(decision) => decision,
            Change::Frozen(decision) if !self.rules.keep(Rule::CopiedBeforeDecision) => decision,
            _ => return None,
        };
        if decision >= VERSIONS {
            return None;
        }
        host.change = Change::Sent(decision);
        host.decision = Decision::InFlight(decision);
        Some(())
    }

    /// The PUT lands at any time after it was sent.
    pub(super) fn land_decision(&self, state: &mut State, host: usize) -> Option<()> {
        let Decision::InFlight(number) = state.hosts[host].decision else {
            return None;
        };
        let created = if self.rules.keep(Rule::DecisionPutIfAbsent) {
            state.put(number, Content::After, Writer::Host)
        } else {
            state.map[number] = Some(Record {
                content: Content::After,
                writer: Writer::Host,
            });
            true
        };
        let host = &mut state.hosts[host];
        host.decision = match host.change {
            Change::Sent(_) if created => Decision::Created,
            Change::Sent(_) => Decision::Refused,
            // The host did not wait for it.
            _ => Decision::None,
        };
        Some(())
    }

    pub(super) fn learn_decision(&self, state: &mut State, host: usize) -> Option<()> {
        let (newest, content) = state.newest();
        let Change::Sent(number) = state.hosts[host].change else {
            return None;
        };
        let created = match state.hosts[host].decision {
            Decision::Created => true,
            Decision::Refused => false,
            _ => return None,
        };
        let changed =
            if created && (newest == number || !self.rules.keep(Rule::HostListsAfterDecision)) {
                true
            } else {
                content == Content::After && self.rules.keep(Rule::NewestRecordDecides)
            };
        self.finish(&mut state.hosts[host], changed);
        state.hosts[host].decision = Decision::None;
        Some(())
    }

    fn finish(&self, host: &mut Host, changed: bool) {
        for range in self.bounds.before {
            if host.phases[*range] == Phase::Frozen {
                host.phases[*range] = if changed {
                    Phase::Closed
                } else {
                    Phase::Serving
                };
            }
        }
        if changed {
            for range in self.bounds.after {
                host.phases[*range] = Phase::Serving;
            }
        }
        host.change = Change::None;
    }

    /// Without the rule: the host waits no longer for the answer, and the decision can land later.
    pub(super) fn thaw_by_timeout(&self, state: &mut State, host: usize) -> Option<()> {
        let host = &mut state.hosts[host];
        if self.rules.keep(Rule::ThawedAfterUndone)
            || !matches!(host.decision, Decision::InFlight(_))
        {
            return None;
        }
        self.finish(host, false);
        Some(())
    }
}
