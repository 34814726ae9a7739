//! A message of a model: what its clients know about it.

use std::time::Duration;

/// Virtual time since the simulation began.
pub(crate) type Time = Duration;

/// The maximum difference between the clocks of two hosts, which advance in turn.
pub(super) const SKEW: Duration = Duration::from_millis(20);

/// Whether a message is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existence {
    /// It was put, and nothing that removes it was sent.
    Certain,
    /// The outcome of its put, its deletion or a clear is not known, or not yet.
    Maybe,
    /// Its deletion was acknowledged at this time.
    Deleted(Time),
    /// A clear that was sent after its put was acknowledged at this time.
    Cleared(Time),
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The texts that it may have: more than one after an update without an answer.
    pub(super) texts: Vec<String>,
    pub(super) time_to_live: Option<Duration>,
    /// When its put was sent.
    pub(super) sent: Time,
    /// When an answer first showed that it is stored.
    pub(super) stored: Option<Time>,
    pub(super) existence: Existence,
    pub(super) id: Option<String>,
    /// How often it was received, as far as clients know.
    pub(super) dequeue_count: u32,
    /// When it was first received.
    pub(super) received: Option<Time>,
    /// Its receipt, if a client knows it.
    pub(super) receipt: Option<String>,
    /// It is hidden until this time, if nothing changed it since.
    pub(super) hidden_min: Time,
    /// It is visible after this time, if nothing hides it since.
    pub(super) hidden_max: Time,
    /// When the last change of its visibility or its text was acknowledged.
    pub(super) changed: Time,
    /// Whether it may have been visible later than the next messages of its producer.
    pub(super) is_moved: bool,
    /// When the last request with its receipt was sent.
    pub(super) named: Time,
    /// Whether such a request waits for its answer.
    pub(super) is_busy: bool,
}

impl Known {
    pub(super) fn may_be_expired(&self, now: Time) -> bool {
        let expires = self.time_to_live.map(|span| self.sent + span);
        expires.is_some_and(|expires| expires <= now + SKEW)
    }

    pub(super) fn is_expired(&self, now: Time) -> bool {
        let stored = self.stored.zip(self.time_to_live);
        stored.is_some_and(|(stored, span)| stored + span + SKEW <= now)
    }

    /// Whether it is stored for certain from `since` until `now`.
    pub(super) fn is_stored(&self, since: Time, now: Time) -> bool {
        let was_stored = self.stored.is_some_and(|stored| stored <= since);
        was_stored && self.existence == Existence::Certain && !self.may_be_expired(now)
    }

    /// Whether no request with its receipt, and no receive with an answer, may have been executed after `since`.
    pub(super) fn is_quiet(&self, since: Time) -> bool {
        !self.is_busy && self.named <= since && self.changed <= since
    }

    /// Whether it is visible for certain from `since` until `now`, if no receive hides it.
    pub(super) fn is_visible(&self, since: Time, now: Time) -> bool {
        self.is_quiet(since) && self.is_stored(since, now) && self.hidden_max + SKEW <= since
    }
}
