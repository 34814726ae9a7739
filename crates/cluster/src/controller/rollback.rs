//! Rolling back a change: removes its databases, and stores a record without the change.
//!
//! Databases that cannot be removed now are recorded as pending deletion. If storing the record fails, for example on a
//! full disk, the next change or deletion round tries again.

use super::action::{SaveReason, Task};
use super::phase::{AfterSave, Phase, Then};
use super::{JobId, State};
use crate::error::ChangeRefused;
use crate::map::MapError;
use partita_range::RangeId;

impl State {
    /// Removes the databases of a failed change.
    pub(super) fn remove_new(&mut self, job: JobId, databases: Vec<RangeId>, then: Then) {
        let task = Task::RemoveNew(databases.clone());
        self.run_holding(job, Phase::RemovingNew { databases, then }, task);
    }

    /// Records that the change was rolled back and that the databases in `left` are pending deletion.
    pub(super) fn save_rollback(&mut self, job: JobId, left: Vec<RangeId>, then: Then) {
        let record = self.record.roll_back(left);
        self.save(
            job,
            record,
            SaveReason::RollBack,
            AfterSave::RolledBack(then),
        );
    }

    pub(super) fn rolled_back(&mut self, job: JobId, then: Then, result: Result<(), MapError>) {
        if result.is_ok() {
            self.undecided.clear();
        }
        match (then, result) {
            (Then::Refuse(why), _) => self.finish(job, Err(why)),
            (Then::Change(change), Ok(())) => self.flush(job, change),
            (Then::Change(_), Err(error)) => self.finish(job, Err(ChangeRefused::failed(error))),
            (Then::Round, _) => {
                self.released(job);
                self.list_databases(job);
            }
        }
    }

    /// A deletion round got the lock to roll back an unfinished change, unless another job has already rolled it back.
    pub(super) fn begin_late_rollback(&mut self, job: JobId) {
        match &self.record.change {
            Some(unfinished) => {
                let databases = unfinished.created();
                self.remove_new(job, databases, Then::Round);
            }
            None => {
                self.released(job);
                self.list_databases(job);
            }
        }
    }
}
