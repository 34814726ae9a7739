//! The change lock: at most one job at a time changes the map, creates or deletes databases, or pins ranges.
//!
//! Jobs get the lock in the order of their requests. Reading a snapshot, finding databases to delete, and opening
//! ranges do not need it.

use super::phase::{Exclusive, Phase};
use super::{Action, JobId, Outcome, State, Task};
use crate::error::ChangeRefused;
use std::collections::VecDeque;

/// The change lock: its holder, and the jobs that wait for it.
#[derive(Debug, Default)]
pub(super) struct ChangeLock {
    holder: Option<Holder>,
    waiting: VecDeque<(JobId, Exclusive)>,
}

#[derive(Debug)]
struct Holder {
    job: JobId,
    /// The phase of the holder; `None` while its event is handled.
    phase: Option<Phase>,
}

impl ChangeLock {
    /// Takes the phase of a job that holds the lock. The caller sets the next phase, or releases the lock.
    pub(super) fn take_phase(&mut self, job: JobId) -> Option<Phase> {
        let holder = self.holder.as_mut().filter(|holder| holder.job == job)?;
        holder.phase.take()
    }

    pub(super) fn set_phase(&mut self, job: JobId, phase: Phase) {
        let phase = Some(phase);
        self.holder = Some(Holder { job, phase });
    }
}

impl State {
    /// Queues a job for the lock.
    pub(super) fn wait(&mut self, job: JobId, exclusive: Exclusive) {
        self.lock.waiting.push_back((job, exclusive));
        self.grant();
    }

    /// Runs a task for the lock holder, which waits for its result.
    pub(super) fn run_holding(&mut self, job: JobId, phase: Phase, task: Task) {
        self.lock.set_phase(job, phase);
        self.out.push(Action::Run(job, Box::new(task)));
    }

    /// Releases the lock, or removes the job from the queue.
    pub(super) fn released(&mut self, job: JobId) {
        let lock = &mut self.lock;
        lock.waiting.retain(|(waiting, _)| *waiting != job);
        lock.holder.take_if(|holder| holder.job == job);
        self.grant();
    }

    /// Ends a job with its result and releases the lock.
    pub(super) fn finish(&mut self, job: JobId, answer: Result<Outcome, ChangeRefused>) {
        self.out.push(Action::Answer(job, answer));
        self.released(job);
    }

    /// Finishes a job whose next step failed.
    pub(super) fn finish_failed(&mut self, job: JobId, next: Result<(), ChangeRefused>) {
        if let Err(why) = next {
            self.finish(job, Err(why));
        }
    }

    /// Grants the free lock to the first job in the queue.
    fn grant(&mut self) {
        if self.lock.holder.is_some() {
            return;
        }
        let Some((job, exclusive)) = self.lock.waiting.pop_front() else {
            return;
        };
        self.lock.holder = Some(Holder { job, phase: None });
        match exclusive {
            Exclusive::Change(request) => {
                let begun = self.begin_change(job, request);
                self.finish_failed(job, begun);
            }
            Exclusive::Freeze { range, time } if self.record.spec(range).is_some() => {
                self.run_holding(job, Phase::Freezing, Task::Freeze(range, time));
            }
            Exclusive::Freeze { range, .. } => {
                self.finish(job, Err(ChangeRefused::NoSuchRange(range)));
            }
            Exclusive::Guest => {
                self.lock.set_phase(job, Phase::Guest);
                self.out.push(Action::GrantLock(job));
            }
            Exclusive::RollBack => self.begin_late_rollback(job),
            Exclusive::Delete(databases) => {
                self.run_holding(job, Phase::Deleting, Task::Remove(databases));
            }
            Exclusive::ReleasePins => {
                self.run_holding(job, Phase::ReleasingPins, Task::ReleasePins);
            }
        }
    }
}
