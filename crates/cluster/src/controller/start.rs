//! The start: rolls back an interrupted change, deletes databases that are in no record, and opens the ranges.

use super::action::{SaveReason, Task};
use super::phase::{AfterSave, Phase};
use super::{JobId, Removed, State};
use crate::map::MapRecord;
use partita_range::RangeId;

impl State {
    /// Handles the first event: the store was read and checked. `record` is the newest version of the map; `None` in a
    /// new store.
    pub(super) fn found(&mut self, record: Option<MapRecord>, databases: &[RangeId]) {
        let Some(record) = record else {
            return self.save_start(MapRecord::first());
        };
        self.record = record;
        if self.term.is_some() {
            return self.settle();
        }
        let mut unneeded = self.record.created();
        let next_range = self.record.next_range;
        let untracked = databases
            .iter()
            .filter(|id| id.0 < next_range && !self.record.tracks(**id));
        unneeded.extend(untracked);
        if unneeded.is_empty() {
            self.open_in_present_format();
        } else {
            let task = Task::Remove(unneeded.clone());
            let databases = unneeded;
            self.run_holding(JobId::START, Phase::RemovingAtStart { databases }, task);
        }
    }

    /// Stores a version of the map before anything else. It decides a change that an earlier manager began: this record and
    /// the host's exclude each other. And an earlier manager that was paused, and does not know that its term is over, can
    /// store nothing after it. What has to be deleted is left to the deletion rounds.
    fn settle(&mut self) {
        let record = match self.record.change {
            Some(_) => self.record.roll_back(self.record.created()),
            None => self.record.next(),
        };
        self.save_start(record);
    }

    /// A database that cannot be removed does not block the start: it is recorded as pending deletion.
    pub(super) fn start_removed(&mut self, databases: Vec<RangeId>, removed: &Removed) {
        let left = removed.left_of(databases);
        if self.record.change.is_none() && left.is_empty() {
            self.open_in_present_format();
        } else {
            self.save_start(self.record.roll_back(left));
        }
    }

    /// Opens the ranges. Before that, stores a record without a checksum again in the current format.
    fn open_in_present_format(&mut self) {
        if self.record.is_unchecked() {
            self.save_start(self.record.next());
        } else {
            self.open();
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
