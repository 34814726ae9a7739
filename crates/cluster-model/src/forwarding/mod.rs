//! A front forwards requests to the owner that its map names, holds them while there is none, and answers its clients. Hosts
//! keep rows in caches.
//!
//! Ownership is reduced to tenures: at most one host serves (that is what `ownership` shows), a tenure ends by a move or by
//! a failure, and a write that was submitted in a tenure can become durable until the next one is opened. A request that the
//! front has given up can still arrive.

pub(crate) mod cases;
mod front;
mod host;
mod state;

use stateright::{Model, Property};

use crate::rule::Rules;

use self::state::{ATTEMPTS, Answer, Attempt, Kind, Stage, State};

/// How much the model allows.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    operations: &'static [Kind],
    /// How often a front sends a request.
    attempts: usize,
    /// Ends of a tenure.
    transfers: u8,
}

pub(crate) struct Forwarding {
    bounds: Bounds,
    rules: Rules,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Action {
    Begin(usize),
    Watch,
    Send(usize),
    HoldEnds(usize),
    ConnectionBreaks(usize),
    TakeReply(usize),
    Arrives(usize, usize),
    BecomesDurable(usize, usize),
    Replies(usize, usize),
    Moves,
    Fails,
    Opens(usize),
}

impl Model for Forwarding {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::initial()]
    }

    /// Each step checks itself whether it is possible, so all are tried.
    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend([
            Action::Watch,
            Action::Moves,
            Action::Fails,
            Action::Opens(0),
            Action::Opens(1),
        ]);
        for (operation, of) in state
            .operations
            .iter()
            .enumerate()
            .take(self.bounds.operations.len())
        {
            match of.stage {
                Stage::NotBegun => actions.push(Action::Begin(operation)),
                Stage::Held { .. } => {
                    actions.extend([Action::Send(operation), Action::HoldEnds(operation)])
                }
                Stage::Sent => actions.extend([
                    Action::TakeReply(operation),
                    Action::ConnectionBreaks(operation),
                ]),
                Stage::Answered(_) => {}
            }
            for attempt in 0..ATTEMPTS {
                match of.attempts[attempt] {
                    Attempt::InFlight { .. } => actions.push(Action::Arrives(operation, attempt)),
                    Attempt::Running { .. } => {
                        actions.extend([
                            Action::BecomesDurable(operation, attempt),
                            Action::Replies(operation, attempt),
                        ]);
                    }
                    Attempt::Durable { .. } => actions.push(Action::Replies(operation, attempt)),
                    _ => {}
                }
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Begin(operation) => self.begin(&mut state, operation)?,
            Action::Watch => self.watch(&mut state)?,
            Action::Send(operation) => self.send(&mut state, operation)?,
            Action::HoldEnds(operation) => self.end_hold(&mut state, operation)?,
            Action::ConnectionBreaks(operation) => self.break_connection(&mut state, operation)?,
            Action::TakeReply(operation) => self.take_reply(&mut state, operation)?,
            Action::Arrives(operation, attempt) => self.arrive(&mut state, operation, attempt)?,
            Action::BecomesDurable(operation, attempt) => {
                self.make_durable(&mut state, operation, attempt)?
            }
            Action::Replies(operation, attempt) => self.reply(&mut state, operation, attempt)?,
            Action::Moves => self.end_tenure(&mut state, true)?,
            Action::Fails => self.end_tenure(&mut state, false)?,
            Action::Opens(host) => self.open(&mut state, host)?,
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("stale-read", |_, state: &State| !state.stale_read),
            Property::always("write-executed-twice", |_, state: &State| {
                state
                    .operations
                    .iter()
                    .all(|operation| operation.applied <= 1)
            }),
            Property::always("acknowledged-write-lost", |_, state: &State| {
                state.acknowledged & !state.row == 0
            }),
            Property::always("refused-write-executed", |_, state: &State| {
                state.operations.iter().all(|operation| {
                    operation.stage != Stage::Answered(Answer::Refused) || operation.applied == 0
                })
            }),
            Property::always("read-unknown", |model: &Self, state: &State| {
                let mut operations = model.bounds.operations.iter().zip(&state.operations);
                operations.all(|(kind, operation)| {
                    *kind == Kind::Write || operation.stage != Stage::Answered(Answer::Unknown)
                })
            }),
            Property::always("refused-while-served", |_, state: &State| {
                state.operations.iter().all(|operation| {
                    operation.stage != Stage::Answered(Answer::Refused) || !operation.quiet
                })
            }),
        ]
    }
}
