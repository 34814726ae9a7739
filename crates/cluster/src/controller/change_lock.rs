//! The change lock: at most one job at a time changes the map, creates or deletes databases, or pins ranges.
//!
//! Jobs get it in the order in which they ask. Reading a snapshot, finding out which databases can be deleted, and opening ranges
//! do not need it.

use super::changes::{Plan, Wish};
use super::rollback::Then;
use super::{Action, JobId, Outcome, State, StoreAction};
use crate::error::ChangeRefused;
use crate::map::MapRecord;
use bytes::Bytes;
use partita_range::RangeId;
use std::collections::VecDeque;
use std::time::Duration;

/// What a job does once it holds the lock.
#[derive(Debug)]
pub(super) enum Exclusive {
    Split {
        range: RangeId,
        at: Option<Bytes>,
    },
    Merge {
        left: RangeId,
        right: RangeId,
    },
    Freeze {
        range: RangeId,
        time: Duration,
    },
    /// Whatever its caller does.
    Guest,
    /// Roll back a change whose rollback could not be recorded.
    RollBack,
    Delete(Vec<RangeId>),
    ReleasePins,
}

/// What the holder of the lock waits for.
#[derive(Debug)]
pub(super) enum Phase {
    /// The start: databases to remove before the ranges are opened.
    RemovingAtStart {
        record: MapRecord,
        databases: Vec<RangeId>,
    },
    /// The start: a record that settles what was found.
    SavingStart {
        record: MapRecord,
    },
    /// The start: the ranges.
    Opening,
    Surveying(Wish),
    FindingSplitKey {
        range: RangeId,
    },
    /// Removal of databases that a failed change created.
    RemovingNew {
        databases: Vec<RangeId>,
        then: Then,
    },
    SavingRollback {
        record: MapRecord,
        then: Then,
    },
    Flushing(Plan),
    SavingBegin {
        record: MapRecord,
        plan: Plan,
    },
    Changing {
        decision: MapRecord,
        plan: Plan,
    },
    Freezing,
    Guest,
    Deleting,
    SavingDeletion {
        record: MapRecord,
        late: bool,
    },
    ReleasingPins,
}

/// Holder and queue.
#[derive(Debug, Default)]
pub(super) struct ChangeLock {
    holder: Option<Holder>,
    waiting: VecDeque<(JobId, Exclusive)>,
}

#[derive(Debug)]
struct Holder {
    job: JobId,
    /// `None` while an event is being worked on.
    phase: Option<Phase>,
}

impl ChangeLock {
    /// What the job waits for, if it holds the lock. The event that asks is about to set the next phase, or to release the lock.
    pub(super) fn take_phase(&mut self, job: JobId) -> Option<Phase> {
        let holder = self.holder.as_mut().filter(|holder| holder.job == job)?;
        holder.phase.take()
    }

    /// Sets what the holder waits for next.
    pub(super) fn set_phase(&mut self, job: JobId, phase: Phase) {
        self.holder = Some(Holder {
            job,
            phase: Some(phase),
        });
    }

    /// An event that does not belong to the phase changes nothing: it is a late answer to an earlier one.
    pub(super) fn put_back(&mut self, job: JobId, phase: Option<Phase>) {
        if let Some(phase) = phase {
            self.set_phase(job, phase);
        }
    }

    fn is_held_by(&self, job: JobId) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.job == job)
    }
}

impl State {
    /// Queues a job for the lock.
    pub(super) fn wait(&mut self, job: JobId, exclusive: Exclusive, out: &mut Vec<Action>) {
        self.lock.waiting.push_back((job, exclusive));
        self.grant(out);
    }

    /// The job no longer needs the lock, or no longer waits for it.
    pub(super) fn released(&mut self, job: JobId, out: &mut Vec<Action>) {
        self.lock.waiting.retain(|(waiting, _)| *waiting != job);
        if self.lock.is_held_by(job) {
            self.lock.holder = None;
        }
        self.grant(out);
    }

    /// Answers a job and releases the lock.
    pub(super) fn finish(
        &mut self,
        job: JobId,
        answer: Result<Outcome, ChangeRefused>,
        out: &mut Vec<Action>,
    ) {
        out.push(Action::Answer { job, answer });
        self.released(job, out);
    }

    /// Gives the free lock to the first job in the queue.
    fn grant(&mut self, out: &mut Vec<Action>) {
        if self.lock.holder.is_some() {
            return;
        }
        let Some((job, exclusive)) = self.lock.waiting.pop_front() else {
            return;
        };
        self.lock.holder = Some(Holder { job, phase: None });
        match exclusive {
            Exclusive::Split { range, at } => self.begin_split(job, range, at, out),
            Exclusive::Merge { left, right } => self.begin_merge(job, left, right, out),
            Exclusive::Freeze { range, time } => self.begin_freeze(job, range, time, out),
            Exclusive::Guest => {
                self.lock.set_phase(job, Phase::Guest);
                out.push(Action::GrantLock { job });
            }
            Exclusive::RollBack => self.begin_late_rollback(job, out),
            Exclusive::Delete(databases) => {
                self.lock.set_phase(job, Phase::Deleting);
                out.push(Action::Store {
                    job,
                    action: StoreAction::Remove(databases),
                });
            }
            Exclusive::ReleasePins => {
                self.lock.set_phase(job, Phase::ReleasingPins);
                out.push(Action::Store {
                    job,
                    action: StoreAction::ReleasePins,
                });
            }
        }
    }
}
