//! The start: rolls back a change that was cut short, deletes databases that no record names, and opens the ranges.

use super::action::SaveReason;
use super::change_lock::Phase;
use super::{Action, JobId, Removed, State, StoreAction};
use crate::error::StartError;
use crate::map::{ChangeRecord, MapError, MapRecord};
use partita_range::RangeId;

impl State {
    /// What the store holds.
    pub(super) fn found(
        &mut self,
        record: Option<MapRecord>,
        databases: &[RangeId],
        out: &mut Vec<Action>,
    ) {
        let Some(record) = record else {
            // A store from before there were maps, or a new one, has at most the first range.
            if databases.iter().any(|id| *id != RangeId(1)) {
                out.push(Action::Started(Err(StartError::MapMissing)));
            } else {
                self.save_start(MapRecord::first(), out);
            }
            return;
        };
        self.record = record;
        let change = self.record.change.iter();
        let mut unneeded: Vec<RangeId> = change.flat_map(ChangeRecord::created).collect();
        let next_range = self.record.next_range;
        let untracked = databases
            .iter()
            .filter(|id| id.0 < next_range && !self.record.knows(**id));
        unneeded.extend(untracked);
        if unneeded.is_empty() {
            self.open(out);
        } else {
            self.lock.set_phase(
                JobId::START,
                Phase::RemovingAtStart {
                    record: self.record.clone(),
                    databases: unneeded.clone(),
                },
            );
            out.push(Action::Store {
                job: JobId::START,
                action: StoreAction::Remove(unneeded),
            });
        }
    }

    /// A database that cannot be removed does not stop the start: it is recorded and deleted later.
    pub(super) fn start_removed(
        &mut self,
        record: MapRecord,
        databases: &[RangeId],
        removed: &Removed,
        out: &mut Vec<Action>,
    ) {
        let left = databases.iter().filter(|id| !removed.gone.contains(id));
        let left: Vec<RangeId> = left.copied().collect();
        if record.change.is_none() && left.is_empty() {
            self.open(out);
        } else {
            self.save_start(record.roll_back(left), out);
        }
    }

    fn save_start(&mut self, record: MapRecord, out: &mut Vec<Action>) {
        self.lock.set_phase(
            JobId::START,
            Phase::SavingStart {
                record: record.clone(),
            },
        );
        out.push(Action::Save {
            job: JobId::START,
            record,
            reason: SaveReason::Start,
        });
    }

    pub(super) fn start_saved(
        &mut self,
        record: MapRecord,
        result: Result<(), MapError>,
        out: &mut Vec<Action>,
    ) {
        match result {
            Ok(()) => {
                self.record = record;
                self.open(out);
            }
            Err(error) => out.push(Action::Started(Err(error.into()))),
        }
    }

    fn open(&mut self, out: &mut Vec<Action>) {
        self.lock.set_phase(JobId::START, Phase::Opening);
        out.push(Action::Open {
            ranges: self.record.specs().collect(),
        });
    }

    pub(super) fn opened(&mut self, out: &mut Vec<Action>) {
        match self.lock.take_phase(JobId::START) {
            Some(Phase::Opening) => {
                out.push(Action::Started(Ok(())));
                self.released(JobId::START, out);
            }
            other => self.lock.put_back(JobId::START, other),
        }
    }
}
