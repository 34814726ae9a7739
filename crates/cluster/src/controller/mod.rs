//! The controller: decides on all changes to the ranges of a store.
//!
//! A plain state machine: [`step`] takes the state and an event and returns actions. It does not wait, read a clock,
//! lock or do I/O; the [driver](crate::driver) carries out the actions and returns the result of each as the next
//! event. Golden scripts (`scripts/`) show complete sequences.
//!
//! ```text
//!  request: split range 1 ─▶ survey ─▶ find the split key ─▶ flush ─▶ save record N+1 ─▶ change, decided by record N+2 ─▶ answer
//! ```
//!
//! Its decisions, one file each:
//! - [`start`]: rollback and deletion at startup, before the ranges open;
//! - [`changes`]: splits and merges, step by step; [`rollback`]: failed changes;
//! - [`change_lock`]: which jobs exclude each other, and their order; [`phase`]: the tasks that the holder waits for;
//! - [`deletion`]: which databases of replaced ranges are deleted, and when;
//! - [`pins`]: when maintenance looks for untracked pins;
//! - [`balancing`]: the current action of the balancer.
//!
//! Invariants:
//! - only the holder of the change lock saves a record, so versions have no gaps and no conflicts;
//! - record N+1 is stored before a change creates anything, and record N+2 decides it: the host stores it with the new
//!   ranges, or the controller stores it as rolled back. The first stored record N+2 wins;
//! - the ranges of a change are not assigned to another host before it is decided;
//! - a database is deleted only while the change lock is held, so that no clone can start to need its files, and only
//!   if no record lists it as served;
//! - opening ranges does not wait for the change lock, only for the decision of an interrupted change.

mod action;
mod balancing;
mod change_lock;
mod changes;
mod deletion;
mod event;
mod phase;
mod pins;
mod rollback;
mod start;
#[cfg(test)]
mod tests;

pub(crate) use action::{Action, Outcome, SaveReason, Task};
pub use action::{Merged, Split};
pub(crate) use event::{ChangeRequest, Event, JobId, Removed, Request, TaskResult};
#[cfg(test)]
pub(crate) use pins::ROUNDS_BETWEEN;

use crate::balance::Balancer;
use crate::error::ChangeRefused;
use crate::map::{MapError, MapRecord, RangeSpec};
use balancing::Balancing;
use change_lock::ChangeLock;
use deletion::Round;
use partita_range::RangeId;
use phase::{AfterSave, Exclusive, Phase};
use pins::PinRounds;
use std::collections::BTreeMap;

/// If this many databases cannot be deleted because of a range, its split or merge is refused, and the range is
/// compacted.
const ANCESTRY_MAX: u64 = 8;

/// The maximum number of ranges of a host: each range has buffers, files, a heat sketch and tasks, and memory is
/// bounded. Four times the limit of the balancer. A restored backup may have more ranges; merge them afterwards.
pub(crate) const RANGES_MAX: usize = 256;

/// The maximum number of ranges of a cluster: their keys take 10 MB of the registry.
pub(crate) const RANGES_MAX_OF_CLUSTER: usize = 30_000;

/// The state of the controller.
#[derive(Debug)]
pub(crate) struct State {
    /// See [`RANGES_MAX`].
    ranges_max: usize,
    /// The term of this manager; `None` if all hosts end with this process.
    term: Option<u64>,
    /// The newest version of the map that is known to be stored; before the start, the first version of a new store.
    record: MapRecord,
    /// The ranges of a change that may be decided either way: its host carries it out, or its outcome is not known.
    undecided: Vec<RangeId>,
    /// The ranges that a change has created, and whose keys the registry may not have yet.
    unannounced: Vec<RangeId>,
    lock: ChangeLock,
    /// Running deletion rounds.
    rounds: BTreeMap<JobId, Round>,
    pins: PinRounds,
    balancing: Balancing,
    /// The actions of the current step.
    out: Vec<Action>,
}

impl State {
    /// The state before the start.
    pub(crate) fn new(ranges_max: usize) -> Self {
        Self {
            ranges_max,
            term: None,
            record: MapRecord::first(),
            undecided: Vec::new(),
            unannounced: Vec::new(),
            lock: ChangeLock::default(),
            rounds: BTreeMap::new(),
            pins: PinRounds::default(),
            balancing: Balancing::default(),
            out: Vec::new(),
        }
    }

    /// The state of the manager of a cluster, in a new term. The hosts are other processes, which may still carry out a
    /// change that an earlier manager began.
    pub(crate) fn of_manager(ranges_max: usize, term: u64) -> Self {
        Self {
            term: Some(term),
            ..Self::new(ranges_max)
        }
    }

    /// The newest version of the map that is known to be stored.
    pub(crate) fn record(&self) -> &MapRecord {
        &self.record
    }

    /// The ranges that may be assigned to a server. Not those of a change that is not decided yet: its host may decide it
    /// although another server has taken the ranges over, and then the rows that this one writes are in no range. And not
    /// those that are not announced yet: without a key, they would count as ranges of a registry that was wiped.
    pub(crate) fn assignable(&self) -> impl Iterator<Item = RangeSpec> {
        let is_excluded = |id| self.undecided.contains(&id) || self.unannounced.contains(&id);
        let ranges = self.record.specs();
        ranges.filter(move |range| !is_excluded(range.id))
    }

    /// Notes that the registry has the keys of a version of the map, or of a later one.
    pub(crate) fn announced(&mut self, map: &MapRecord) {
        let newest = &self.record;
        self.unannounced
            .retain(|range| map.spec(*range).is_none() && newest.spec(*range).is_some());
    }

    /// Whether a change is not decided yet.
    pub(crate) fn is_undecided(&self) -> bool {
        !self.undecided.is_empty()
    }

    /// Sets the balancer, which decides at each later report.
    pub(crate) fn balance_with(&mut self, balancer: Balancer) {
        self.balancing.start(balancer);
    }

    /// Whether the next report is used for balancing.
    pub(crate) fn is_balancing(&self) -> bool {
        self.balancing.is_due()
    }

    /// How often the balancer found no split key, and the number of its completed splits and merges.
    pub(crate) fn balance_counts(&self) -> (u64, u64) {
        self.balancing.counts()
    }
}

/// Handles an event and returns the actions that follow, in order.
pub(crate) fn step(state: &mut State, event: Event) -> Vec<Action> {
    match event {
        Event::Found { record, databases } => state.found(record, &databases),
        Event::Asked(job, request) => state.asked(job, request),
        Event::Released(job) => state.released(job),
        Event::TaskEnded(job, result) => state.task_ended(job, result),
        Event::Broken(job) => state.broken(job),
        Event::PinsSuspected => state.pins.suspect(),
        Event::Observed {
            now,
            ranges,
            servers,
        } => {
            let action = state.balancing.observed(now, &ranges, servers);
            state.out.extend(action.map(Action::Balance));
        }
        Event::Balanced { now, result } => state.balancing.balanced(now, result),
    }
    std::mem::take(&mut state.out)
}

impl State {
    fn asked(&mut self, job: JobId, request: Request) {
        match request {
            Request::Change(change) => self.wait(job, Exclusive::Change(change)),
            Request::Freeze { range, time } => self.wait(job, Exclusive::Freeze { range, time }),
            Request::LockChanges => self.wait(job, Exclusive::Guest),
            Request::DeleteReplaced => self.begin_round(job),
            Request::ReleasePins => self.begin_pin_round(job),
        }
    }

    /// Advances the phase of the lock holder with the result of its task.
    fn task_ended(&mut self, job: JobId, result: TaskResult) {
        match (self.lock.take_phase(job), result) {
            (Some(Phase::RemovingAtStart { databases }), TaskResult::Removed(removed)) => {
                self.start_removed(databases, &removed);
            }
            (Some(Phase::Opening), TaskResult::Opened) => {
                self.out.push(Action::Started(Ok(())));
                self.released(job);
            }
            (Some(Phase::Surveying { request, ranges }), TaskResult::Surveyed(kept)) => {
                let next = self.surveyed(job, request, ranges, kept);
                self.finish_failed(job, next);
            }
            (Some(Phase::FindingSplitKey { range }), TaskResult::SplitKeyFound(key)) => {
                let next = key.and_then(|at| self.begin_split(job, range, at));
                self.finish_failed(job, next);
            }
            (Some(Phase::Flushing(change)), TaskResult::Flushed(result)) => {
                let next = result.map(|()| self.flushed(job, change));
                self.finish_failed(job, next);
            }
            (Some(Phase::Changing { change, decision }), TaskResult::Changed(result)) => {
                self.changed(job, change, decision, result);
            }
            (Some(Phase::RemovingNew { databases, then }), TaskResult::Removed(removed)) => {
                self.save_rollback(job, removed.left_of(databases), then);
            }
            (Some(Phase::Saving { record, after }), TaskResult::Saved(result)) => {
                self.saved(job, record, after, result);
            }
            (Some(Phase::Freezing), TaskResult::Thawed(result)) => {
                self.finish(job, result.map(|()| Outcome::Done));
            }
            (Some(Phase::Deleting), TaskResult::Removed(removed)) => self.deleted(job, &removed),
            (Some(Phase::ReleasingPins), TaskResult::PinsReleased { complete }) => {
                self.pins_released(job, complete);
            }
            // Ignores a result that does not belong to the current phase.
            (Some(phase), _) => self.lock.set_phase(job, phase),
            (None, TaskResult::Listed(databases)) => self.listed(job, databases),
            (None, TaskResult::Removable(databases)) => self.removable(job, databases),
            (None, _) => {}
        }
    }

    /// Stores a record, and then continues with `after`.
    fn save(&mut self, job: JobId, mut record: MapRecord, reason: SaveReason, after: AfterSave) {
        record.writer = self.term;
        let task = Task::Save(record.clone(), reason);
        self.run_holding(job, Phase::Saving { record, after }, task);
    }

    fn saved(
        &mut self,
        job: JobId,
        record: MapRecord,
        after: AfterSave,
        result: Result<(), MapError>,
    ) {
        if result.is_ok() {
            self.record = record;
        }
        match (after, result) {
            (AfterSave::Open, Ok(())) => self.open(),
            (AfterSave::Open, Err(error)) => self.out.push(Action::Started(Err(error.into()))),
            (AfterSave::Change(change), Ok(())) => self.change(job, change),
            (AfterSave::Change(_), Err(error)) => {
                self.finish(job, Err(ChangeRefused::failed(error)));
            }
            (AfterSave::RolledBack(then), result) => self.rolled_back(job, then, result),
            // If the save failed, the next round finds that the databases are missing, and saves the record then.
            (AfterSave::Deleted { late }, _) => self.deletion_done(job, late),
        }
    }

    /// An action of the job panicked: a bug. The job ends; its unfinished change is rolled back later, as after a kill.
    fn broken(&mut self, job: JobId) {
        self.rounds.remove(&job);
        let why = "internal error, see the log".into();
        self.finish(job, Err(ChangeRefused::Failed(why)));
    }
}
