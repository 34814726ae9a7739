//! The controller: decides what happens to the ranges of a store.
//!
//! A plain state machine: [`step`] takes the state and an event and returns actions. It does not wait, read a clock, lock or do
//! I/O; the [driver](crate::driver) carries the actions out and returns what came of each as the next event. Golden scripts
//! (`scripts/`) show whole conversations.
//!
//! ```text
//!  asked: split range 1 ─▶ survey ─▶ find the split key ─▶ flush ─▶ save record N+1 ─▶ change, decided by record N+2 ─▶ answer
//! ```
//!
//! What it decides, one file each:
//! - [`start`]: what a start rolls back and deletes before the ranges are opened;
//! - [`changes`]: splits and merges, step by step; [`rollback`] of those that fail;
//! - [`change_lock`]: which jobs exclude each other, and their order;
//! - [`deletion`]: which databases of replaced ranges are deleted, and when;
//! - [`pins`]: when untracked pins are looked for;
//! - [`balancing`]: what the balancer begins.
//!
//! Invariants:
//! - only the holder of the change lock saves a record, so versions follow one another;
//! - record N+1 is stored before a change creates anything, and record N+2 decides it: stored by the host with the new ranges, or
//!   by the controller as rolled back. Whichever exists first counts;
//! - a database is deleted only while the change lock is held, so that no clone can start to need its files, and only if no record
//!   names it as served;
//! - opening ranges does not wait for the change lock, only for the decision of a change that was found undecided.

mod action;
mod balancing;
mod change_lock;
mod changes;
mod deletion;
mod event;
mod pins;
mod rollback;
mod start;

#[cfg(test)]
mod tests;

pub(crate) use action::{Action, Outcome, SaveReason, StoreAction};
pub use action::{Merged, Split};
pub(crate) use event::{Event, JobId, Removed, Request};
#[cfg(test)]
pub(crate) use pins::ROUNDS_BETWEEN;

use crate::balance::Balancer;
use crate::map::MapRecord;
use balancing::Balancing;
use change_lock::{ChangeLock, Exclusive, Phase};
use deletion::Round;
use pins::PinRounds;
use std::collections::BTreeMap;

/// A range that keeps this many other databases from being deleted is not split or merged before it was compacted.
pub const ANCESTRY_MAX: u64 = 8;

/// How many ranges a host serves at most: each has buffers, files, a heat sketch and some tasks of its own, and memory is bounded.
/// Four times what the balancer creates by itself. A restored backup may bring more, which can be merged.
pub const RANGES_MAX: usize = 256;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// See [`ANCESTRY_MAX`].
    pub(crate) ancestry_max: u64,
    /// See [`RANGES_MAX`]. A limit of each host, not of the store.
    pub(crate) ranges_per_host_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ancestry_max: ANCESTRY_MAX,
            ranges_per_host_max: RANGES_MAX,
        }
    }
}

/// What the controller knows.
#[derive(Debug)]
pub(crate) struct State {
    limits: Limits,
    /// The newest version of the map that is known to be stored. Before the start, that of a new store.
    record: MapRecord,
    lock: ChangeLock,
    /// Deletion rounds under way.
    rounds: BTreeMap<JobId, Round>,
    pins: PinRounds,
    balancing: Balancing,
}

impl State {
    /// Before the start.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            record: MapRecord::first(),
            lock: ChangeLock::default(),
            rounds: BTreeMap::new(),
            pins: PinRounds::default(),
            balancing: Balancing::default(),
        }
    }

    /// The newest version of the map that is known to be stored.
    pub(crate) fn record(&self) -> &MapRecord {
        &self.record
    }

    /// From now on the balancer decides at each report.
    pub(crate) fn balance_with(&mut self, balancer: Balancer) {
        self.balancing.start(balancer);
    }

    /// Whether the next report is used for balancing.
    pub(crate) fn is_balancing(&self) -> bool {
        self.balancing.is_due()
    }

    /// How often a range stayed hot and had no key to split at, and how many splits and merges the balancer made.
    pub(crate) fn balance_counts(&self) -> (u64, u64) {
        self.balancing.counts()
    }
}

/// Takes an event and returns what is to be done about it, in order.
pub(crate) fn step(state: &mut State, event: Event) -> Vec<Action> {
    let mut actions = Vec::new();
    let out = &mut actions;
    match event {
        Event::Found { record, databases } => state.found(record, &databases, out),
        Event::Opened => state.opened(out),
        Event::Asked { job, request } => state.asked(job, request, out),
        Event::Released { job } => state.released(job, out),
        Event::Surveyed { job, kept } => state.surveyed(job, kept, out),
        Event::SplitKeyFound { job, key } => state.split_key_found(job, key, out),
        Event::Flushed { job, result } => state.flushed(job, result, out),
        Event::Saved { job, result } => state.saved(job, result, out),
        Event::Changed { job, result } => state.changed(job, result, out),
        Event::Thawed { job, result } => state.thawed(job, result, out),
        Event::Removed { job, removed } => state.removed(job, removed, out),
        Event::Listed { job, databases } => state.listed(job, databases, out),
        Event::Removable { job, databases } => state.removable(job, databases, out),
        Event::PinsReleased { job, complete } => state.pins_released(job, complete, out),
        Event::PinsSuspected => state.pins.suspect(),
        Event::Observed { now, ranges } => state.balancing.observed(now, &ranges, out),
        Event::Balanced { now, result } => state.balancing.balanced(now, result),
        Event::Broken { job } => state.broken(job, out),
    }
    actions
}

impl State {
    fn asked(&mut self, job: JobId, request: Request, out: &mut Vec<Action>) {
        match request {
            Request::Split { range, at } => self.wait(job, Exclusive::Split { range, at }, out),
            Request::Merge { left, right } => {
                self.wait(job, Exclusive::Merge { left, right }, out);
            }
            Request::Freeze { range, time } => {
                self.wait(job, Exclusive::Freeze { range, time }, out);
            }
            Request::LockChanges => self.wait(job, Exclusive::Guest, out),
            Request::DeleteReplaced => self.begin_round(job, out),
            Request::ReleasePins => self.begin_pin_round(job, out),
        }
    }

    /// A record was stored, or was not: which one, the phase of the job says.
    fn saved(
        &mut self,
        job: JobId,
        result: Result<(), crate::map::MapError>,
        out: &mut Vec<Action>,
    ) {
        match self.lock.take_phase(job) {
            Some(Phase::SavingStart { record }) => self.start_saved(record, result, out),
            Some(Phase::SavingBegin { record, plan }) => {
                self.begin_saved(job, record, plan, result, out);
            }
            Some(Phase::SavingRollback { record, then }) => {
                self.rollback_saved(job, record, then, result, out);
            }
            Some(Phase::SavingDeletion { record, late }) => {
                self.deletion_saved(job, record, late, result, out);
            }
            other => self.lock.put_back(job, other),
        }
    }

    /// Databases were removed, or were not: for what, the phase of the job says.
    fn removed(&mut self, job: JobId, removed: Removed, out: &mut Vec<Action>) {
        match self.lock.take_phase(job) {
            Some(Phase::RemovingAtStart { record, databases }) => {
                self.start_removed(record, &databases, &removed, out);
            }
            Some(Phase::RemovingNew { databases, then }) => {
                self.new_removed(job, &databases, then, &removed, out);
            }
            Some(Phase::Deleting) => self.deleted(job, &removed, out),
            other => self.lock.put_back(job, other),
        }
    }

    /// An action of the job ended without an answer: a bug. The job ends; a change that it began is rolled back later, as after a
    /// kill.
    fn broken(&mut self, job: JobId, out: &mut Vec<Action>) {
        self.rounds.remove(&job);
        let why = "an internal error, which the log describes".into();
        let answer = Err(crate::error::ChangeRefused::Failed(why));
        out.push(Action::Answer { job, answer });
        self.released(job, out);
    }
}
