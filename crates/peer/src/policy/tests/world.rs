//! Random requests, owners and breaks, as in the part `forwarding` of the cluster's model: requests that were given up
//! can still arrive, tenures end by a failure, and the map of the front is behind.

use std::time::Duration;

use proptest::prelude::*;

use super::super::{Action, Event, Forwarding, Holds, Kind, Route, Time};
use crate::forward::Tenure;

const STEP: Duration = Duration::from_millis(100);

/// A request on its way, at the owner, or answered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Attempt {
    InFlight(u64),
    Running(u64),
    Replied(Event),
    Over,
}

#[derive(Debug)]
struct Operation {
    kind: Kind,
    policy: Forwarding,
    attempts: Vec<Attempt>,
    /// The time of the current wait; `None` while it is sent or over.
    waits_until: Option<Time>,
    held_since: Option<Time>,
    ended: Option<Action>,
    sent_after_break: usize,
    has_broken: bool,
    applied: usize,
}

#[derive(Debug)]
struct World {
    now: Time,
    /// The newest tenure, and whether its owner serves.
    tenure: u64,
    is_serving: bool,
    map: Route,
    holds: Holds,
    operations: Vec<Operation>,
}

impl World {
    fn new(kinds: &[bool]) -> Self {
        let operation = |is_write: &bool| {
            let kind = if *is_write { Kind::Write } else { Kind::Read };
            Operation {
                kind,
                policy: Forwarding::new(kind, 10),
                attempts: Vec::new(),
                waits_until: Some(Time::ZERO),
                held_since: None,
                ended: None,
                sent_after_break: 0,
                has_broken: false,
                applied: 0,
            }
        };
        let mut world = Self {
            now: Time::ZERO,
            tenure: 1,
            is_serving: true,
            map: Route::Owner(Tenure(1)),
            holds: Holds::default(),
            operations: kinds.iter().map(operation).collect(),
        };
        world.look(true);
        world
    }

    fn event(&mut self, index: usize, event: Event) {
        let operation = &mut self.operations[index];
        let action = operation.policy.step(event, self.now, &mut self.holds);
        operation.waits_until = None;
        match action {
            Action::Send(tenure) => {
                operation.sent_after_break += usize::from(operation.has_broken);
                operation.attempts.push(Attempt::InFlight(tenure.0));
            }
            Action::Wait(until) => {
                operation.waits_until = Some(until);
                operation.held_since.get_or_insert(self.now);
            }
            ended => operation.ended = Some(ended),
        }
    }

    /// Reports the map to the requests that wait: to all after a change, else to those whose wait is over.
    fn look(&mut self, has_changed: bool) {
        for index in 0..self.operations.len() {
            let waits = self.operations[index].waits_until;
            if waits.is_some_and(|until| has_changed || until <= self.now) {
                self.event(index, Event::Map(self.map));
            }
        }
    }

    fn awaits_reply(&self, index: usize) -> bool {
        let operation = &self.operations[index];
        operation.ended.is_none() && operation.waits_until.is_none()
    }

    fn arrive(&mut self, index: usize, attempt: usize) {
        let serves = |tenure| self.is_serving && tenure == self.tenure;
        let newest = Event::NotHere(Tenure(self.tenure));
        let operation = &mut self.operations[index];
        let is_last = attempt + 1 == operation.attempts.len();
        let Some(attempt) = operation.attempts.get_mut(attempt) else {
            return;
        };
        *attempt = match *attempt {
            Attempt::InFlight(tenure) if serves(tenure) => Attempt::Running(tenure),
            Attempt::InFlight(_) if is_last => Attempt::Replied(newest),
            // Submitted: it becomes durable unless the next tenure was opened, and is answered, perhaps as unknown.
            Attempt::Running(tenure) => {
                operation.applied += usize::from(tenure == self.tenure);
                Attempt::Replied(Event::Answered)
            }
            other => other,
        };
    }

    fn act(&mut self, what: u8, index: usize) {
        let index = index % self.operations.len();
        let last = self.operations[index].attempts.len().saturating_sub(1);
        match what % 10 {
            0 => {
                self.map = if self.is_serving {
                    Route::Owner(Tenure(self.tenure))
                } else {
                    Route::Unserved
                };
                self.look(true);
            }
            1 | 2 => self.arrive(index, last),
            3 => self.arrive(index, 0),
            4 if self.awaits_reply(index) => {
                self.operations[index].has_broken = true;
                self.event(index, Event::Broken);
            }
            5 if self.awaits_reply(index) => {
                let attempt = &mut self.operations[index].attempts[last];
                if matches!(attempt, Attempt::InFlight(_)) {
                    *attempt = Attempt::Over;
                    self.event(index, Event::NotProcessed);
                }
            }
            6 => self.is_serving = false,
            7 if !self.is_serving => {
                self.tenure += 1;
                self.is_serving = true;
            }
            8 => {
                self.now += STEP;
                self.look(false);
            }
            9 if self.awaits_reply(index) => {
                if let Attempt::Replied(reply) = self.operations[index].attempts[last] {
                    self.event(index, reply);
                }
            }
            _ => {}
        }
        self.look(false);
    }

    /// Everything that is under way arrives and is executed, as late as can be.
    fn settle(&mut self) {
        for index in 0..self.operations.len() {
            for attempt in 0..self.operations[index].attempts.len() {
                self.arrive(index, attempt);
                self.arrive(index, attempt);
            }
        }
    }

    fn check(&self) {
        for operation in &self.operations {
            let what = format!("{operation:?}");
            match operation.kind {
                Kind::Write => {
                    assert!(operation.applied <= 1, "WriteSentOnce: {what}");
                    assert_eq!(operation.sent_after_break, 0, "WriteSentOnce: {what}");
                    if operation.ended == Some(Action::Refuse) {
                        assert_eq!(operation.applied, 0, "SentWriteIsUnknown: {what}");
                    }
                    if operation.has_broken {
                        assert_eq!(operation.ended, Some(Action::Unknown), "{what}");
                    }
                }
                Kind::Read => assert_ne!(
                    operation.ended,
                    Some(Action::Unknown),
                    "ReadSentAgain: {what}"
                ),
            }
            if let Some(until) = operation.waits_until {
                let since = operation.held_since.unwrap();
                assert!(until <= since + Duration::from_millis(2500), "{what}");
            }
        }
        let held = self
            .operations
            .iter()
            .filter(|operation| operation.waits_until.is_some());
        assert_eq!(self.holds.requests(), held.count());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_rules_of_forwarding_hold(
        kinds in prop::collection::vec(any::<bool>(), 1..4),
        actions in prop::collection::vec(any::<(u8, usize)>(), 0..80),
    ) {
        let mut world = World::new(&kinds);
        for (what, index) in actions {
            world.act(what, index);
            world.check();
        }
        world.settle();
        world.check();
        for index in 0..kinds.len() {
            world.event(index, Event::Abandoned);
        }
        prop_assert_eq!(world.holds, Holds::default());
    }

    /// `WaitsForRevision`: while one owner serves and nothing breaks, no request is refused, however late the map is
    /// within the time of holding.
    #[test]
    fn a_late_map_costs_no_request(
        is_write in any::<bool>(),
        tenures in 1..20_u64,
        actions in prop::collection::vec(prop::sample::select(vec![1, 2, 9, 8]), 0..22),
    ) {
        let mut world = World::new(&[is_write]);
        world.tenure += tenures;
        for what in actions {
            world.act(what, 0);
        }
        // The watch brings the owner, and the request is sent, executed and answered.
        for what in [1, 9, 0, 1, 1, 9, 8, 1, 1, 9] {
            world.act(what, 0);
        }
        prop_assert_eq!(world.operations[0].ended, Some(Action::PassOn));
    }
}
