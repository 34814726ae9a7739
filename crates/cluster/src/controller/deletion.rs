//! Deletion rounds: delete databases of replaced ranges, and databases in no record, once nothing reads their files.
//!
//! ```text
//!  roll back an unfinished change? ─▶ list the databases ─▶ delete those no record names ─▶ which pending ones can go? ─▶ delete them
//!       change lock                    no lock               change lock                    no lock                        change lock
//! ```
//!
//! Every change leaves the databases of the replaced ranges, whose files the new ranges read for minutes. So most
//! rounds find no database to delete and do not take the lock.

use super::action::{SaveReason, Task};
use super::phase::{AfterSave, Exclusive};
use super::{Action, JobId, Outcome, Removed, State};
use partita_range::RangeId;

/// The number of databases deleted in one go, before the lock goes to the next job.
const DELETED_AT_ONCE: usize = 8;

/// The step of a round.
#[derive(Debug)]
pub(super) enum Round {
    /// Rolling back an unfinished change.
    RollingBack,
    /// Listing the databases. Ids from `next_range` on are newer than the list.
    Listing { next_range: u64 },
    /// Deleting databases that are in no record.
    DeletingUntracked,
    /// Finding pending databases that can be deleted.
    FindingRemovable,
    /// Deleting pending databases; `next` are the remaining ones.
    Deleting { next: Vec<RangeId> },
}

impl State {
    pub(super) fn begin_round(&mut self, job: JobId) {
        if self.record.change.is_some() {
            self.rounds.insert(job, Round::RollingBack);
            self.wait(job, Exclusive::RollBack);
        } else {
            self.list_databases(job);
        }
    }

    pub(super) fn list_databases(&mut self, job: JobId) {
        let next_range = self.record.next_range;
        self.rounds.insert(job, Round::Listing { next_range });
        self.out
            .push(Action::Run(job, Box::new(Task::ListDatabases)));
    }

    pub(super) fn listed(&mut self, job: JobId, databases: Option<Vec<RangeId>>) {
        let Some(Round::Listing { next_range }) = self.rounds.get(&job) else {
            return;
        };
        let next_range = *next_range;
        let is_untracked = |id: &RangeId| id.0 < next_range && !self.record.tracks(*id);
        let untracked: Vec<RangeId> = databases
            .unwrap_or_default()
            .into_iter()
            .filter(is_untracked)
            .collect();
        if untracked.is_empty() {
            self.find_removable(job);
        } else {
            self.rounds.insert(job, Round::DeletingUntracked);
            self.wait(job, Exclusive::Delete(untracked));
        }
    }

    fn find_removable(&mut self, job: JobId) {
        let pending = self.record.pending_deletion.iter();
        let databases: Vec<RangeId> = pending.map(|id| RangeId(*id)).collect();
        if databases.is_empty() {
            return self.end_round(job);
        }
        self.rounds.insert(job, Round::FindingRemovable);
        let task = Task::FindRemovable(databases);
        self.out.push(Action::Run(job, Box::new(task)));
    }

    pub(super) fn removable(&mut self, job: JobId, databases: Option<Vec<RangeId>>) {
        if matches!(self.rounds.get(&job), Some(Round::FindingRemovable)) {
            self.delete_some(job, databases.unwrap_or_default());
        }
    }

    fn delete_some(&mut self, job: JobId, mut databases: Vec<RangeId>) {
        if databases.is_empty() {
            return self.end_round(job);
        }
        let next = databases.split_off(databases.len().min(DELETED_AT_ONCE));
        self.rounds.insert(job, Round::Deleting { next });
        self.wait(job, Exclusive::Delete(databases));
    }

    pub(super) fn deleted(&mut self, job: JobId, removed: &Removed) {
        let pending = &self.record.pending_deletion;
        // Nothing to record if only untracked databases were removed: no record lists them.
        if !pending
            .iter()
            .any(|id| removed.gone.contains(&RangeId(*id)))
        {
            return self.deletion_done(job, removed.late);
        }
        let record = self.record.forget(&removed.gone);
        let after = AfterSave::Deleted { late: removed.late };
        self.save(job, record, SaveReason::Deletion, after);
    }

    pub(super) fn deletion_done(&mut self, job: JobId, late: bool) {
        self.released(job);
        match self.rounds.remove(&job) {
            Some(Round::DeletingUntracked) => self.find_removable(job),
            // The store is already slow; the next round continues.
            Some(Round::Deleting { next }) if !late => self.delete_some(job, next),
            _ => self.end_round(job),
        }
    }

    fn end_round(&mut self, job: JobId) {
        self.rounds.remove(&job);
        self.out.push(Action::Answer(job, Ok(Outcome::Done)));
    }
}
