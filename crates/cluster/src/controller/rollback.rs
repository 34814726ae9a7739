//! Rolling back a change: its databases are removed, and the next record says that it was rolled back.
//!
//! Databases that cannot be removed now are recorded as pending deletion. A rollback that cannot be recorded, on a full disk, is
//! done again by the next job that needs it: another change, or a deletion round.

use super::action::SaveReason;
use super::change_lock::Phase;
use super::changes::Plan;
use super::{Action, JobId, Removed, State, StoreAction};
use crate::error::ChangeRefused;
use crate::map::{MapError, MapRecord};
use partita_range::RangeId;

/// What follows a rollback.
#[derive(Debug)]
pub(super) enum Then {
    /// The change that failed is refused.
    Refuse(ChangeRefused),
    /// The change that found the earlier one unfinished begins.
    Change(Plan),
    /// The deletion round that found it goes on.
    Round,
}

impl State {
    /// Removes the databases of a failed change.
    pub(super) fn remove_new(
        &mut self,
        job: JobId,
        databases: Vec<RangeId>,
        then: Then,
        out: &mut Vec<Action>,
    ) {
        self.lock.set_phase(
            job,
            Phase::RemovingNew {
                databases: databases.clone(),
                then,
            },
        );
        out.push(Action::Store {
            job,
            action: StoreAction::RemoveNew(databases),
        });
    }

    pub(super) fn new_removed(
        &mut self,
        job: JobId,
        databases: &[RangeId],
        then: Then,
        removed: &Removed,
        out: &mut Vec<Action>,
    ) {
        let left = databases.iter().filter(|id| !removed.gone.contains(id));
        let left = left.copied().collect();
        self.save_rollback(job, left, then, out);
    }

    /// Records that the change was rolled back and which of its databases are left.
    pub(super) fn save_rollback(
        &mut self,
        job: JobId,
        left: Vec<RangeId>,
        then: Then,
        out: &mut Vec<Action>,
    ) {
        let record = self.record.roll_back(left);
        self.lock.set_phase(
            job,
            Phase::SavingRollback {
                record: record.clone(),
                then,
            },
        );
        out.push(Action::Save {
            job,
            record,
            reason: SaveReason::RollBack,
        });
    }

    pub(super) fn rollback_saved(
        &mut self,
        job: JobId,
        record: MapRecord,
        then: Then,
        result: Result<(), MapError>,
        out: &mut Vec<Action>,
    ) {
        if result.is_ok() {
            self.record = record;
        }
        match (then, result) {
            (Then::Refuse(why), _) => self.finish(job, Err(why), out),
            (Then::Change(plan), Ok(())) => self.flush(job, plan, out),
            (Then::Change(_), Err(error)) => {
                self.finish(job, Err(ChangeRefused::failed(error)), out);
            }
            (Then::Round, _) => {
                self.released(job, out);
                self.list_databases(job, out);
            }
        }
    }

    /// A deletion round got the lock to roll back what it found unfinished; it may be decided by now.
    pub(super) fn begin_late_rollback(&mut self, job: JobId, out: &mut Vec<Action>) {
        match &self.record.change {
            Some(unfinished) => {
                let databases = unfinished.created();
                self.remove_new(job, databases, Then::Round, out);
            }
            None => {
                self.released(job, out);
                self.list_databases(job, out);
            }
        }
    }
}
