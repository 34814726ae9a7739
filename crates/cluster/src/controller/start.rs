//! The start: rolls back an interrupted change, deletes databases that are in no record, and opens the ranges.

use super::action::{SaveReason, Task};
use super::phase::{AfterSave, Phase};
use super::{Action, JobId, Removed, State};
use crate::error::StartError;
use crate::map::{ChangeRecord, MapRecord};
use partita_range::RangeId;

impl State {
    /// The store was read.
    pub(super) fn found(&mut self, record: Option<MapRecord>, databases: &[RangeId]) {
        let Some(record) = record else {
            // A store without a map has at most the first range.
            if databases.iter().any(|id| *id != RangeId(1)) {
                self.out.push(Action::Started(Err(StartError::MapMissing)));
            } else {
                self.save_start(MapRecord::first());
            }
            return;
        };
        self.record = record;
        let change = self.record.change.iter();
        let mut unneeded: Vec<RangeId> = change.flat_map(ChangeRecord::created).collect();
        let next_range = self.record.next_range;
        let untracked = databases
            .iter()
            .filter(|id| id.0 < next_range && !self.record.tracks(**id));
        unneeded.extend(untracked);
        if unneeded.is_empty() {
            self.open();
        } else {
            let task = Task::Remove(unneeded.clone());
            let databases = unneeded;
            self.run_holding(JobId::START, Phase::RemovingAtStart { databases }, task);
        }
    }

    /// A database that cannot be removed does not block the start: it is recorded as pending deletion.
    pub(super) fn start_removed(&mut self, databases: Vec<RangeId>, removed: &Removed) {
        let left = removed.left_of(databases);
        if self.record.change.is_none() && left.is_empty() {
            self.open();
        } else {
            self.save_start(self.record.roll_back(left));
        }
    }

    fn save_start(&mut self, record: MapRecord) {
        self.save(JobId::START, record, SaveReason::Start, AfterSave::Open);
    }

    pub(super) fn open(&mut self) {
        let task = Task::Open(self.record.specs().collect());
        self.run_holding(JobId::START, Phase::Opening, task);
    }
}
