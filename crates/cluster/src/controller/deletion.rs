//! Deletion rounds: databases of replaced ranges, and those that no record names, are deleted once nothing reads their files.
//!
//! ```text
//!  roll back an unfinished change? ─▶ list the databases ─▶ delete those no record names ─▶ which pending ones can go? ─▶ delete them
//!       change lock                    no lock               change lock                    no lock                        change lock
//! ```
//!
//! Every change leaves a database for each replaced range, needed for minutes by those cloned from it: most rounds find that all
//! are needed and never take the lock.

use super::action::SaveReason;
use super::change_lock::{Exclusive, Phase};
use super::{Action, JobId, Outcome, Removed, State, StoreAction};
use crate::map::{MapError, MapRecord};
use partita_range::RangeId;

/// How many databases are deleted before another job gets the lock.
const DELETED_AT_ONCE: usize = 8;

/// Where a round is.
#[derive(Debug)]
pub(super) enum Round {
    /// A change is to be rolled back.
    RollingBack,
    /// Ids from this one on were given out after the listing was asked for.
    Listing { next_range: u64 },
    /// Databases that no record names are being deleted.
    DeletingUntracked,
    /// Which pending databases can be deleted.
    FindingRemovable,
    /// Pending databases are being deleted; these come next.
    Deleting { next: Vec<RangeId> },
}

impl State {
    pub(super) fn begin_round(&mut self, job: JobId, out: &mut Vec<Action>) {
        if self.record.change.is_some() {
            self.rounds.insert(job, Round::RollingBack);
            self.wait(job, Exclusive::RollBack, out);
        } else {
            self.list_databases(job, out);
        }
    }

    pub(super) fn list_databases(&mut self, job: JobId, out: &mut Vec<Action>) {
        let next_range = self.record.next_range;
        self.rounds.insert(job, Round::Listing { next_range });
        out.push(Action::Store {
            job,
            action: StoreAction::ListDatabases,
        });
    }

    pub(super) fn listed(
        &mut self,
        job: JobId,
        databases: Option<Vec<RangeId>>,
        out: &mut Vec<Action>,
    ) {
        let Some(Round::Listing { next_range }) = self.rounds.get(&job) else {
            return;
        };
        let next_range = *next_range;
        let is_untracked = |id: &RangeId| id.0 < next_range && !self.record.knows(*id);
        let untracked: Vec<RangeId> = databases
            .unwrap_or_default()
            .into_iter()
            .filter(is_untracked)
            .collect();
        if untracked.is_empty() {
            self.find_removable(job, out);
        } else {
            self.rounds.insert(job, Round::DeletingUntracked);
            self.wait(job, Exclusive::Delete(untracked), out);
        }
    }

    fn find_removable(&mut self, job: JobId, out: &mut Vec<Action>) {
        let pending = self.record.pending_deletion.iter();
        let databases: Vec<RangeId> = pending.map(|id| RangeId(*id)).collect();
        if databases.is_empty() {
            return self.end_round(job, out);
        }
        self.rounds.insert(job, Round::FindingRemovable);
        out.push(Action::Store {
            job,
            action: StoreAction::FindRemovable(databases),
        });
    }

    pub(super) fn removable(
        &mut self,
        job: JobId,
        databases: Option<Vec<RangeId>>,
        out: &mut Vec<Action>,
    ) {
        if matches!(self.rounds.get(&job), Some(Round::FindingRemovable)) {
            self.delete_some(job, databases.unwrap_or_default(), out);
        }
    }

    fn delete_some(&mut self, job: JobId, mut databases: Vec<RangeId>, out: &mut Vec<Action>) {
        if databases.is_empty() {
            return self.end_round(job, out);
        }
        let next = databases.split_off(databases.len().min(DELETED_AT_ONCE));
        self.rounds.insert(job, Round::Deleting { next });
        self.wait(job, Exclusive::Delete(databases), out);
    }

    pub(super) fn deleted(&mut self, job: JobId, removed: &Removed, out: &mut Vec<Action>) {
        let pending = &self.record.pending_deletion;
        // Untracked databases are in no record.
        if !pending
            .iter()
            .any(|id| removed.gone.contains(&RangeId(*id)))
        {
            return self.deletion_done(job, removed.late, out);
        }
        let record = self.record.forget(&removed.gone);
        let late = removed.late;
        self.lock.set_phase(
            job,
            Phase::SavingDeletion {
                record: record.clone(),
                late,
            },
        );
        out.push(Action::Save {
            job,
            record,
            reason: SaveReason::Deletion,
        });
    }

    pub(super) fn deletion_saved(
        &mut self,
        job: JobId,
        record: MapRecord,
        late: bool,
        result: Result<(), MapError>,
        out: &mut Vec<Action>,
    ) {
        // What was not recorded is found gone, and recorded, by the next round.
        if result.is_ok() {
            self.record = record;
        }
        self.deletion_done(job, late, out);
    }

    fn deletion_done(&mut self, job: JobId, late: bool, out: &mut Vec<Action>) {
        self.released(job, out);
        match self.rounds.remove(&job) {
            Some(Round::DeletingUntracked) => self.find_removable(job, out),
            // The store is slow already: the rest is left to the next round.
            Some(Round::Deleting { next }) if !late => self.delete_some(job, next, out),
            _ => self.end_round(job, out),
        }
    }

    fn end_round(&mut self, job: JobId, out: &mut Vec<Action>) {
        self.rounds.remove(&job);
        let answer = Ok(Outcome::Done);
        out.push(Action::Answer { job, answer });
    }
}
