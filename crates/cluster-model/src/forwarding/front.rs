//! The front: it begins, holds, sends and answers.

use crate::Rule;

use super::{
    Forwarding,
    state::{Answer, Attempt, Kind, Reply, Stage, State},
};

impl Forwarding {
    pub(super) fn begin(&self, state: &mut State, operation: usize) -> Option<()> {
        // With a single attempt the first one must go to the owner.
        let found = self.bounds.attempts > 1 || state.known.0 == state.tenure;
        let quiet = state.owner().is_some() && found;
        let must_see = state.acknowledged | state.observed;
        let operation = &mut state.operations[operation];
        operation.stage = Stage::Held { tenure: 0 };
        operation.must_see = must_see;
        operation.quiet = quiet;
        Some(())
    }

    /// The watch of etcd brings the newest owner.
    pub(super) fn watch(&self, state: &mut State) -> Option<()> {
        state.known = (state.tenure, state.owner()?);
        Some(())
    }

    pub(super) fn send(&self, state: &mut State, operation: usize) -> Option<()> {
        let (tenure, host) = state.known;
        let operation = &mut state.operations[operation];
        let Stage::Held { tenure: wanted } = operation.stage else {
            return None;
        };
        if tenure < wanted && self.rules.keep(Rule::WaitsForRevision) {
            return None;
        }
        if operation.sent == self.bounds.attempts {
            operation.stage = Stage::Answered(Answer::Refused);
            return Some(());
        }
        operation.attempts[operation.sent] = Attempt::InFlight { tenure, host };
        operation.sent += 1;
        operation.stage = Stage::Sent;
        Some(())
    }

    /// The longest time of a hold is over. It does not end while one owner serves throughout: the watch is quicker.
    pub(super) fn end_hold(&self, state: &mut State, operation: usize) -> Option<()> {
        let operation = &mut state.operations[operation];
        if operation.quiet {
            return None;
        }
        operation.stage = Stage::Answered(Answer::Refused);
        Some(())
    }

    /// The connection broke after the request was sent, or no answer came in time. The request can still arrive.
    pub(super) fn break_connection(&self, state: &mut State, operation: usize) -> Option<()> {
        let kind = self.bounds.operations[operation];
        let operation = &mut state.operations[operation];
        let again = match kind {
            Kind::Read => self.rules.keep(Rule::ReadSentAgain),
            Kind::Write => !self.rules.keep(Rule::WriteSentOnce),
        };
        // A reply that was on its way is lost; a request that was is not.
        let last = &mut operation.attempts[operation.sent - 1];
        if matches!(last, Attempt::Replied(_)) {
            *last = Attempt::Over;
        }
        operation.quiet = false;
        operation.stage = if again {
            Stage::Held { tenure: 0 }
        } else if kind == Kind::Read || self.rules.keep(Rule::SentWriteIsUnknown) {
            Stage::Answered(Answer::Unknown)
        } else {
            Stage::Answered(Answer::Refused)
        };
        Some(())
    }

    /// The front reads the answer to its last attempt.
    pub(super) fn take_reply(&self, state: &mut State, operation: usize) -> Option<()> {
        let write = 1 << operation;
        let of = &mut state.operations[operation];
        let Attempt::Replied(reply) = of.attempts[of.sent - 1] else {
            return None;
        };
        of.attempts[of.sent - 1] = Attempt::Over;
        of.stage = match reply {
            Reply::NotMine(tenure) => Stage::Held { tenure },
            Reply::Unknown => Stage::Answered(Answer::Unknown),
            Reply::Written => {
                state.acknowledged |= write;
                Stage::Answered(Answer::Done)
            }
            Reply::Value(value) => {
                state.stale_read |= value & of.must_see != of.must_see;
                state.observed |= value;
                Stage::Answered(Answer::Done)
            }
        };
        Some(())
    }
}
