//! One forwarded request.

use std::time::Duration;

use super::Holds;
use crate::forward::Tenure;

/// A time: the monotonic clock, counted from any beginning.
pub type Time = Duration;

/// How long a request is held in all. Longer than the failover of a server, shorter than a client waits.
const HOLD: Duration = Duration::from_millis(2500);

/// How often a request may be answered by 421 before it is held until the map has a newer tenure.
const TRIES: u32 = 3;

/// The first pause after a request that was not sent, and the longest. A newer map ends a pause.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_millis(400);

/// Whether a request changes data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only reads.
    Read,
    /// It can change data.
    Write,
}

/// What the map says about the range of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// A server serves the range in this tenure.
    Owner(Tenure),
    /// No server serves it: in transit, opening, or without an owner.
    Unserved,
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The map says this. Reported at the beginning, when the map has changed, and when a wait is over.
    Map(Route),
    /// It was not processed: not sent, refused, or the owner is going away.
    NotProcessed,
    /// The receiver answered 421 with the newest tenure that it knows.
    NotHere(Tenure),
    /// The connection broke after it was sent, or no answer came in time.
    Broken,
    /// The owner answered.
    Answered,
    /// The client has gone, or its time is over.
    Abandoned,
}

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send it to the owner in this tenure.
    Send(Tenure),
    /// Look at the map when it has changed since the last look, and at this time.
    Wait(Time),
    /// Pass the owner's answer on.
    PassOn,
    /// Answer 503 ServerBusy with the reason `range-in-transit` and `Retry-After: 1`: not executed.
    Refuse,
    /// Answer 500 OperationTimedOut: may have been executed.
    Unknown,
    /// Answer nothing: the client has gone.
    Drop,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It waits outside of the count of held requests: it has not been routed since it began or was sent.
    Unheld,
    /// It is held.
    Held,
    /// It was sent.
    Sent,
    /// It is over.
    Over,
}

/// One forwarded request.
#[derive(Clone, Debug)]
pub struct Forwarding {
    kind: Kind,
    bytes: usize,
    stage: Stage,
    /// The tenure that it was last sent in.
    sent_in: Tenure,
    /// The least tenure that it may be sent in: the one that a 421 named.
    wanted: Tenure,
    /// When it may be sent in the same tenure again.
    not_before: Time,
    pause: Duration,
    /// When it is refused; known once it is held.
    hold_ends: Option<Time>,
    tries: u32,
    has_broken: bool,
}

impl Forwarding {
    /// A request with a body of this size.
    #[must_use]
    pub fn new(kind: Kind, bytes: usize) -> Self {
        Self {
            kind,
            bytes,
            stage: Stage::Unheld,
            sent_in: Tenure(0),
            wanted: Tenure(0),
            not_before: Time::ZERO,
            pause: PAUSE_MIN,
            hold_ends: None,
            tries: 0,
            has_broken: false,
        }
    }

    /// Decides what to do after an event. A request that is over stays so: every further event is dropped.
    #[must_use]
    pub fn step(&mut self, event: Event, now: Time, holds: &mut Holds) -> Action {
        match (self.stage, event) {
            (Stage::Over, _) => Action::Drop,
            (_, Event::Abandoned) => self.end(Action::Drop, holds),
            (Stage::Unheld | Stage::Held, Event::Map(route)) => self.route(route, now, holds),
            // It concerns the request only if this try fails.
            (Stage::Sent, Event::Map(_)) => Action::Wait(Time::MAX),
            (Stage::Sent, Event::Answered) => self.end(Action::PassOn, holds),
            (Stage::Sent, Event::NotProcessed) => self.hold_with_pause(now, holds),
            (Stage::Sent, Event::NotHere(tenure)) => self.not_here(tenure, now, holds),
            (Stage::Sent, Event::Broken) => self.broken(now, holds),
            // What was not sent has no answer. The driver is wrong; nothing is executed by a refusal.
            (Stage::Unheld | Stage::Held, _) => self.end(Action::Refuse, holds),
        }
    }

    fn route(&mut self, route: Route, now: Time, holds: &mut Holds) -> Action {
        if let Route::Owner(tenure) = route
            && tenure >= self.wanted
            && (tenure > self.sent_in || now >= self.not_before)
        {
            if self.stage == Stage::Held {
                holds.leave(self.bytes);
            }
            self.stage = Stage::Sent;
            self.sent_in = tenure;
            return Action::Send(tenure);
        }
        let pause_ends = Some(self.not_before).filter(|end| *end > now);
        self.hold(pause_ends.unwrap_or(Time::MAX), now, holds)
    }

    fn not_here(&mut self, tenure: Tenure, now: Time, holds: &mut Holds) -> Action {
        self.wanted = self.wanted.max(tenure);
        self.tries += 1;
        if self.tries >= TRIES {
            // The map does not change, such as while the coordinator is lost: only a newer tenure is worth a try. A refusal
            // at once would use up the retries of the client.
            self.not_before = Time::MAX;
            return self.hold(Time::MAX, now, holds);
        }
        self.hold_with_pause(now, holds)
    }

    fn broken(&mut self, now: Time, holds: &mut Holds) -> Action {
        match self.kind {
            Kind::Write => self.end(Action::Unknown, holds),
            // A read has no effect, so "not executed" is true of it.
            Kind::Read if self.has_broken => self.end(Action::Refuse, holds),
            Kind::Read => {
                self.has_broken = true;
                self.not_before = now;
                self.hold(now, now, holds)
            }
        }
    }

    fn hold_with_pause(&mut self, now: Time, holds: &mut Holds) -> Action {
        self.not_before = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        self.hold(self.not_before, now, holds)
    }

    /// Holds the request until the map changes, at most until `until` and the end of its time.
    fn hold(&mut self, until: Time, now: Time, holds: &mut Holds) -> Action {
        let ends = *self.hold_ends.get_or_insert(now + HOLD);
        if now >= ends || (self.stage != Stage::Held && !holds.enter(self.bytes)) {
            return self.end(Action::Refuse, holds);
        }
        self.stage = Stage::Held;
        Action::Wait(until.min(ends))
    }

    fn end(&mut self, action: Action, holds: &mut Holds) -> Action {
        if self.stage == Stage::Held {
            holds.leave(self.bytes);
        }
        self.stage = Stage::Over;
        action
    }
}
