//! Clears of a queue.

use super::message::Existence;
use super::{QueueModel, Time};

/// A clear that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clear {
    sent: Time,
}

impl QueueModel {
    pub(crate) fn clear_sent(&mut self, now: Time) -> Clear {
        self.clears_running += 1;
        for known in self.messages.values_mut() {
            if known.existence == Existence::Certain {
                known.existence = Existence::Maybe;
            }
        }
        Clear { sent: now }
    }

    /// The clear was acknowledged: whatever was stored before it is removed.
    pub(crate) fn clear_done(&mut self, clear: Clear, now: Time) {
        self.clears_running -= 1;
        self.cleared_until = self.cleared_until.max(now);
        for known in self.messages.values_mut() {
            let was_stored = known.stored.is_some_and(|stored| stored <= clear.sent);
            if was_stored && !matches!(known.existence, Existence::Deleted(_)) {
                known.existence = Existence::Cleared(now);
            }
        }
    }

    pub(crate) fn clear_lost(&mut self, now: Time) {
        self.clears_running -= 1;
        self.cleared_until = self.cleared_until.max(now + self.late);
    }

    /// Whether no clear may have been executed after `since`, the time of a request before now.
    pub(super) fn is_uncleared_since(&self, since: Time) -> bool {
        self.clears_running == 0 && self.cleared_until <= since
    }
}
