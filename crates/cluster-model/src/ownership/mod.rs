//! Who owns a range: one range, four process lives, two managers, etcd, the manifest and one log for each life.
//!
//! A process that takes no step is paused, and one that never takes another step is dead. So crashes are needed only where
//! memory must be lost. A PUT lands at any time after it was sent, also after its sender's death; learning its outcome is a
//! step of its own, which stands for lost answers and retries. The gate of a host closes before etcd expires its lease,
//! except where the scenario breaks the clock. A gate that closes and opens again while etcd has the lease changes nothing,
//! so it is left out.

pub(crate) mod cases;
mod faults;
mod manager;
mod serve;
mod state;
mod take_over;

use stateright::{Model, Property};

use crate::rule::Rules;

use self::state::{LIVES, Phase, State};

/// How often each operation and fault can happen.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bounds {
    writes: u8,
    reads: u8,
    crashes: u8,
    moves: u8,
    assignments: u8,
    expels: u8,
    wipes: u8,
    terms: u8,
    joins: u8,
    /// Logs of dead lives are deleted when they are not needed.
    collects: bool,
    /// The manager's client repeats a transaction whose answer was lost.
    repeats: bool,
    /// A host's clock runs slow: its gate stays open after etcd expired the lease.
    clock_broken: bool,
    /// `--reads confirmed`: a read waits for a keepalive that was sent after it began.
    confirmed: bool,
}

pub(crate) struct Ownership {
    bounds: Bounds,
    rules: Rules,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Action {
    Elect(usize),
    TermEnds,
    Look(usize),
    Assign(usize, usize),
    /// The next step of a take-over, except the seals.
    TakeOver(usize),
    Seal(usize, usize),
    StartPut(usize),
    PutLands(usize),
    LearnPut(usize),
    Acknowledge(usize),
    Flush(usize),
    Freeze(usize),
    FlushAndClose(usize),
    Release(usize),
    BeginRead(usize),
    ConfirmRead,
    LookUpRead,
    AnswerRead,
    DropRead,
    GateCloses(usize),
    LeaseExpires(usize),
    Expel(usize),
    WipeEtcd,
    Crash(usize),
    Join(usize),
    Collect(usize),
    GiveUp(usize),
}

impl Model for Ownership {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::initial()]
    }

    /// Each step checks itself whether it is possible, so all are tried.
    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for manager in 0..2 {
            actions.extend([Action::Elect(manager), Action::Look(manager)]);
            if state.managers[manager].seen.is_some() {
                actions.extend((0..LIVES).map(|to| Action::Assign(manager, to)));
            }
        }
        for life in 0..LIVES {
            let host = &state.hosts[life];
            actions.extend([
                Action::LeaseExpires(life),
                Action::Expel(life),
                Action::Collect(life),
                Action::Join(life),
            ]);
            if host.put.is_some() {
                actions.push(Action::PutLands(life));
            }
            if !host.alive {
                continue;
            }
            actions.extend([
                Action::GateCloses(life),
                Action::Crash(life),
                Action::TakeOver(life),
            ]);
            match host.phase {
                Phase::Claimed => actions.extend((0..LIVES).map(|of| Action::Seal(life, of))),
                Phase::Serving => actions.extend([
                    Action::StartPut(life),
                    Action::Freeze(life),
                    Action::Flush(life),
                    Action::BeginRead(life),
                    Action::GiveUp(life),
                ]),
                Phase::Frozen => actions.push(Action::FlushAndClose(life)),
                Phase::Closed => actions.push(Action::Release(life)),
                _ => {}
            }
            if host.put.is_some() {
                actions.extend([Action::LearnPut(life), Action::Acknowledge(life)]);
            }
        }
        if state.read.is_some() {
            actions.extend([
                Action::ConfirmRead,
                Action::LookUpRead,
                Action::AnswerRead,
                Action::DropRead,
            ]);
        }
        actions.extend([Action::TermEnds, Action::WipeEtcd]);
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        self.step(&mut state, action)?;
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("acknowledged-write-lost", |_, state: &State| {
                state
                    .server()
                    .is_none_or(|life| state.acknowledged & !state.hosts[life].rows == 0)
            }),
            Property::always("stale-read", |_, state: &State| !state.stale_read),
            Property::always("acknowledged-past-seal", |_, state: &State| {
                !state.acknowledged_past_seal
            }),
            Property::always("right-owner-fenced", |_, state: &State| {
                state
                    .server()
                    .is_none_or(|life| !state.leases[life] || state.holder == life)
            }),
            Property::always("two-owners-pass-the-gate", |model: &Self, state: &State| {
                model.bounds.clock_broken
                    || state
                        .hosts
                        .iter()
                        .filter(|host| host.serves() && host.valid)
                        .count()
                        <= 1
            }),
        ]
    }
}

impl Ownership {
    fn step(&self, state: &mut State, action: Action) -> Option<()> {
        match action {
            Action::Elect(manager) => self.elect(state, manager),
            Action::TermEnds => self.end_term(state),
            Action::Look(manager) => self.look(state, manager),
            Action::Assign(manager, to) => self.assign(state, manager, to),
            Action::TakeOver(life) => self.take_over(state, life),
            Action::Seal(life, of) => self.seal(state, life, of),
            Action::StartPut(life) => self.start_put(state, life),
            Action::PutLands(life) => self.land_put(state, life),
            Action::LearnPut(life) => self.learn_put(state, life),
            Action::Acknowledge(life) => self.acknowledge(state, life),
            Action::Flush(life) => self.flush(state, life, Phase::Serving),
            Action::Freeze(life) => self.freeze(state, life),
            Action::FlushAndClose(life) => self.flush(state, life, Phase::Closed),
            Action::Release(life) => self.release(state, life),
            Action::BeginRead(life) => self.begin_read(state, life),
            Action::ConfirmRead => self.confirm_read(state),
            Action::LookUpRead => self.look_up_read(state),
            Action::AnswerRead => self.answer_read(state),
            Action::DropRead => self.drop_read(state),
            Action::GateCloses(life) => self.close_gate(state, life),
            Action::LeaseExpires(life) => self.expire_lease(state, life),
            Action::Expel(life) => self.expel(state, life),
            Action::WipeEtcd => self.wipe_etcd(state),
            Action::Crash(life) => self.crash(state, life),
            Action::Join(life) => self.join(state, life),
            Action::Collect(life) => self.collect(state, life),
            Action::GiveUp(life) => self.give_up(state, life),
        }
    }
}
