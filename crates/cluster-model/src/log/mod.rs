//! The log of one process life: groups in flight, floors, deletion of objects no longer needed, and two heirs that seal and
//! replay it at the same time.
//!
//! Even groups belong to one range and odd groups to another. Each flushes on its own, so objects in the middle of the log
//! become unneeded first. A PUT lands at any time after it was sent, also after its sender was fenced; when hedged, the same
//! bytes can land a second time, even after the object was deleted. An heir that claims the manifest prevents further flushes
//! of the old life, as the epoch of SlateDB does.
//!
//! What must hold: the heir that holds the manifest recovers every acknowledged group.

pub(crate) mod cases;
mod heir;
mod state;
mod writer;

use stateright::{Model, Property};

use crate::rule::Rules;

use self::state::{Heir, State};

/// How much the model allows.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Groups that the writer sends in all.
    groups: usize,
    /// PUTs in flight.
    window: usize,
    /// Whether each PUT can land twice.
    hedged: bool,
    /// Whether the writer deletes objects.
    deletes: bool,
}

pub(crate) struct Log {
    bounds: Bounds,
    rules: Rules,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Action {
    /// The writer sends the PUT of its next group.
    Send,
    /// A PUT reaches the store.
    Lands(usize),
    /// A hedged copy of the PUT reaches the store.
    LandsAgain(usize),
    /// The writer learns the outcome of the first group that is not acknowledged.
    Acknowledge,
    /// The writer learns the outcome of a later group and acknowledges it out of order.
    AcknowledgeAhead(usize),
    /// The writer flushes the acknowledged groups of one range.
    Flush(usize),
    /// The writer deletes an object that it no longer needs.
    Delete(usize),
    /// An heir lists the log.
    List(usize),
    /// An heir puts a seal where its list showed a free number.
    PutSeal(usize),
    /// An heir claims the manifest.
    Claim(usize),
    /// The heir that claimed replays the log.
    Replay(usize),
}

impl Model for Log {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if !state.fenced {
            actions.extend([Action::Send, Action::Acknowledge]);
            actions.extend((0..2).map(Action::Flush));
            for number in 0..self.bounds.groups {
                actions.extend([Action::AcknowledgeAhead(number), Action::Delete(number)]);
            }
        }
        for number in 0..self.bounds.groups {
            actions.extend([Action::Lands(number), Action::LandsAgain(number)]);
        }
        for heir in 0..2 {
            actions.push(match state.heirs[heir] {
                Heir::Start => Action::List(heir),
                Heir::Listed { .. } => Action::PutSeal(heir),
                Heir::Sealed => Action::Claim(heir),
                Heir::Claimed { .. } => Action::Replay(heir),
                Heir::Done { .. } => continue,
            });
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Send => self.send(&mut state)?,
            Action::Lands(number) => self.land(&mut state, number, false)?,
            Action::LandsAgain(number) => self.land(&mut state, number, true)?,
            Action::Acknowledge => self.acknowledge(&mut state)?,
            Action::AcknowledgeAhead(number) => self.acknowledge_ahead(&mut state, number)?,
            Action::Flush(range) => self.flush(&mut state, range)?,
            Action::Delete(number) => self.delete(&mut state, number)?,
            Action::List(heir) => self.list(&mut state, heir)?,
            Action::PutSeal(heir) => self.put_seal(&mut state, heir)?,
            Action::Claim(heir) => self.claim(&mut state, heir),
            Action::Replay(heir) => self.replay(&mut state, heir)?,
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("acknowledged-group-lost", |_, state: &State| {
                (0..2).all(|heir| match state.heirs[heir] {
                    Heir::Done { recovered } => {
                        state.holder != Some(heir) || state.acknowledged & !recovered == 0
                    }
                    _ => true,
                })
            }),
            Property::always("acknowledged-not-created", |_, state: &State| {
                state.acknowledged & !state.created == 0
            }),
        ]
    }
}
