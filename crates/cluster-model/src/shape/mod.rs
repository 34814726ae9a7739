//! A split or a merge together with ownership: the map with its decision record, two managers that can be out of date, two
//! hosts with leases and logs, moves, and failover by steps.
//!
//! The model covers the whole key space: the range *whole*, or the ranges *left* and *right*. A split goes from the first to
//! the second, a merge back. The range that a second attempt creates has another id, so a copy of an earlier attempt never
//! counts. What `ownership` shows is taken as given here: sealing and replaying is one step, and so is a transaction.

pub(crate) mod cases;
mod change;
mod host;
mod manager;
mod saving;
mod state;

use stateright::{Model, Property};

use crate::rule::Rules;

use self::state::{
    Content, Key, KeyState, LEFT, Phase, RIGHT, Set, Stage, State, WHOLE, WRITES_OF,
};

/// How much the model allows.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The ranges before and after the change.
    before: &'static [usize],
    after: &'static [usize],
    /// The host that serves the right half, before a merge.
    right_at: usize,
    terms: u8,
    writes: u8,
    begins: u8,
    expiries: u8,
    moves: u8,
    /// Managers save records that change nothing, up to this number.
    saves: usize,
    /// Managers delete records before the newest.
    prunes: bool,
}

pub(crate) struct Shape {
    bounds: Bounds,
    rules: Rules,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Action {
    Elect(usize),
    TermEnds,
    /// The next step of a new manager or of a save.
    Save(usize),
    SaveAgain(usize),
    Prune(usize),
    Begin(usize),
    Undo(usize),
    SeeDecision(usize),
    SyncKeys(usize),
    Assign(usize, usize, usize),
    AskMove(usize, usize),
    LeaseExpires(usize),
    Notice(usize, usize),
    Open(usize, usize),
    Activate(usize, usize),
    StartPut(usize, usize),
    PutLands(usize),
    Acknowledge(usize),
    FlushForMove(usize),
    Release(usize, usize),
    Freeze(usize),
    Copy(usize),
    SendDecision(usize),
    DecisionLands(usize),
    LearnDecision(usize),
    ThawByTimeout(usize),
}

impl Model for Shape {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let owner = |range: &usize| {
            (
                *range,
                if *range == RIGHT {
                    self.bounds.right_at
                } else {
                    0
                },
            )
        };
        vec![State::initial(
            &self.bounds.before.iter().map(owner).collect::<Vec<_>>(),
        )]
    }

    /// Each step checks itself whether it is possible, so all are tried.
    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.push(Action::TermEnds);
        for manager in 0..2 {
            actions.push(Action::Elect(manager));
            match state.managers[manager].stage {
                Stage::Down => {}
                Stage::Active(..) => {
                    actions.extend([Action::SaveAgain(manager), Action::Prune(manager)]);
                    actions.extend([Action::Begin(manager), Action::SyncKeys(manager)]);
                    actions.extend(
                        self.bounds
                            .before
                            .iter()
                            .map(|range| Action::AskMove(manager, *range)),
                    );
                    assignments(manager, actions);
                }
                Stage::Leading(_) => {
                    actions.extend([Action::Undo(manager), Action::SeeDecision(manager)]);
                    assignments(manager, actions);
                }
                _ => actions.push(Action::Save(manager)),
            }
        }
        for host in 0..2 {
            actions.extend([
                Action::LeaseExpires(host),
                Action::PutLands(host),
                Action::Acknowledge(host),
            ]);
            actions.extend([
                Action::FlushForMove(host),
                Action::Freeze(host),
                Action::Copy(host),
            ]);
            actions.extend([
                Action::SendDecision(host),
                Action::DecisionLands(host),
                Action::LearnDecision(host),
            ]);
            actions.push(Action::ThawByTimeout(host));
            for range in [WHOLE, LEFT, RIGHT] {
                match state.hosts[host].phases[range] {
                    Phase::Closed => actions.push(Action::Notice(host, range)),
                    Phase::Assigned => actions.push(Action::Open(host, range)),
                    Phase::Opened => actions.push(Action::Activate(host, range)),
                    Phase::Serving => actions.push(Action::StartPut(host, range)),
                    Phase::Releasing => actions.push(Action::Release(host, range)),
                    Phase::Frozen => {}
                }
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        self.step(&mut state, action)?;
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("acknowledged-write-lost", Self::nothing_lost),
            Property::always("two-serve-a-key", |_, state: &State| {
                [LEFT, RIGHT].into_iter().all(|half| {
                    let serving =
                        |range: usize| (0..2).filter(|host| state.answers(*host, range)).count();
                    serving(WHOLE) + serving(half) <= 1
                })
            }),
            Property::always("served-against-the-map", |model: &Self, state: &State| {
                let ranges = model.ranges(state.newest().1);
                let denied = [WHOLE, LEFT, RIGHT]
                    .into_iter()
                    .filter(|range| !ranges.contains(range));
                denied
                    .into_iter()
                    .all(|range| (0..2).all(|host| !state.answers(host, range)))
            }),
            Property::always("believes-an-old-save", |_, state: &State| {
                state.managers.iter().all(|manager| match manager.stage {
                    Stage::Leading(number) | Stage::Active(number, _) => {
                        state.term != manager.term || state.map[number].is_some()
                    }
                    _ => true,
                })
            }),
            Property::always("keys-overlap", |_, state: &State| {
                state.keys[WHOLE].is_none()
                    || (state.keys[LEFT].is_none() && state.keys[RIGHT].is_none())
            }),
        ]
    }
}

fn assignments(manager: usize, actions: &mut Vec<Action>) {
    for range in [WHOLE, LEFT, RIGHT] {
        actions.extend((0..2).map(|to| Action::Assign(manager, range, to)));
    }
}

impl Shape {
    /// The ranges that a record names.
    fn ranges(&self, content: Content) -> &'static [usize] {
        if content == Content::After {
            self.bounds.after
        } else {
            self.bounds.before
        }
    }

    /// The writes of a range that a take-over would find.
    fn recoverable(&self, state: &State, range: usize) -> Set {
        let last = match state.keys[range] {
            Some(Key { last, .. }) => last,
            // The keys are not in step with the map: those of the ranges before the change still name the life.
            None => self
                .bounds
                .before
                .iter()
                .filter_map(|before| state.keys[*before])
                .fold(0, |last, key| last | key.last),
        };
        let logs = (0..2)
            .filter(|host| last >> host & 1 == 1)
            .fold(0, |rows, host| rows | state.hosts[host].log[range]);
        state.flushed[range] | logs
    }

    /// Each acknowledged write can be recovered, and is seen by the host that serves its key.
    fn nothing_lost(&self, state: &State) -> bool {
        self.ranges(state.newest().1).iter().all(|range| {
            let acknowledged = state.acknowledged & WRITES_OF[*range];
            let seen = (0..2)
                .filter(|host| state.answers(*host, *range))
                .all(|host| acknowledged & !state.hosts[host].rows[*range] == 0);
            seen && acknowledged & !self.recoverable(state, *range) == 0
        })
    }

    /// Whether every key is served by its owner, under a lease.
    fn serves(&self, state: &State) -> bool {
        self.ranges(state.newest().1).iter().all(|range| {
            state.keys[*range].is_some_and(|key| {
                key.state == KeyState::Serving && state.answers(key.owner, *range)
            })
        })
    }

    fn step(&self, state: &mut State, action: Action) -> Option<()> {
        match action {
            Action::Elect(manager) => self.elect(state, manager),
            Action::TermEnds => self.end_term(state),
            Action::Save(manager) => self.save(state, manager),
            Action::SaveAgain(manager) => self.save_again(state, manager),
            Action::Prune(manager) => self.prune(state, manager),
            Action::Begin(manager) => self.begin(state, manager),
            Action::Undo(manager) => self.undo(state, manager),
            Action::SeeDecision(manager) => self.see_decision(state, manager),
            Action::SyncKeys(manager) => self.sync_keys(state, manager),
            Action::Assign(manager, range, to) => self.assign(state, manager, range, to),
            Action::AskMove(manager, range) => self.ask_move(state, manager, range),
            Action::LeaseExpires(host) => self.expire_lease(state, host),
            Action::Notice(host, range) => self.notice(state, host, range),
            Action::Open(host, range) => self.open(state, host, range),
            Action::Activate(host, range) => self.activate(state, host, range),
            Action::StartPut(host, range) => self.start_put(state, host, range),
            Action::PutLands(host) => self.land_put(state, host),
            Action::Acknowledge(host) => self.acknowledge(state, host),
            Action::FlushForMove(host) => self.flush_for_move(state, host),
            Action::Release(host, range) => self.release(state, host, range),
            Action::Freeze(host) => self.freeze(state, host),
            Action::Copy(host) => self.copy(state, host),
            Action::SendDecision(host) => self.send_decision(state, host),
            Action::DecisionLands(host) => self.land_decision(state, host),
            Action::LearnDecision(host) => self.learn_decision(state, host),
            Action::ThawByTimeout(host) => self.thaw_by_timeout(state, host),
        }
    }
}
