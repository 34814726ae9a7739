//! Splits and merges: from the request to the result.

use super::action::{Merged, SaveReason, Split, Task};
use super::phase::{AfterSave, Phase, Then};
use super::{ANCESTRY_MAX, Action, ChangeRequest, JobId, Outcome, State};
use crate::error::ChangeRefused;
use crate::host::{ChangeFailed, Leftover, NewRange, RangeChange};
use crate::map::{ChangeRecord, MapRecord, RangeSpec};
use bytes::Bytes;
use partita_engine::KeyPart;
use partita_model::indivisible_prefix;
use partita_range::{Bounds, RangeId, keys_within};
use std::time::Duration;

impl State {
    pub(super) fn begin_change(
        &mut self,
        job: JobId,
        request: ChangeRequest,
    ) -> Result<(), ChangeRefused> {
        let ranges = match request {
            ChangeRequest::Split { range, .. } => {
                self.spec(range)?;
                if self.record.ranges.len() >= self.ranges_max {
                    return Err(ChangeRefused::TooManyRanges(self.ranges_max));
                }
                vec![range]
            }
            ChangeRequest::Merge { left, right } => {
                self.neighbours(left, right)?;
                vec![left, right]
            }
        };
        let task = Task::Survey(ranges.clone());
        self.run_holding(job, Phase::Surveying { request, ranges }, task);
        Ok(())
    }

    fn spec(&self, id: RangeId) -> Result<RangeSpec, ChangeRefused> {
        self.record.spec(id).ok_or(ChangeRefused::NoSuchRange(id))
    }

    fn neighbours(&self, left: RangeId, right: RangeId) -> Result<[RangeSpec; 2], ChangeRefused> {
        let (a, b) = (self.spec(left)?, self.spec(right)?);
        if a.bounds.end.as_ref() == Some(&b.bounds.start) {
            Ok([a, b])
        } else {
            Err(ChangeRefused::NotNeighbours(left, right))
        }
    }

    /// Continues a split or merge after [`Task::Survey`] has counted the databases that cannot be deleted because of its
    /// ranges. A range with too many of them must be compacted first, so its change is refused.
    pub(super) fn surveyed(
        &mut self,
        job: JobId,
        request: ChangeRequest,
        ranges: Vec<RangeId>,
        kept: Result<Vec<u64>, ChangeRefused>,
    ) -> Result<(), ChangeRefused> {
        let mut surveyed = ranges.into_iter().zip(kept?);
        if let Some((range, kept)) = surveyed.find(|(_, kept)| *kept >= ANCESTRY_MAX) {
            self.out.push(Action::Detach(range));
            return Err(ChangeRefused::Ancestry { range, kept });
        }
        match request {
            ChangeRequest::Split { range, at: None } => {
                let phase = Phase::FindingSplitKey { range };
                self.run_holding(job, phase, Task::FindSplitKey(range));
                Ok(())
            }
            ChangeRequest::Split {
                range,
                at: Some(key),
            } => {
                let bounds = self.spec(range)?.bounds;
                let at = partition_start(&bounds, &key).ok_or(ChangeRefused::KeyOutside(range))?;
                self.begin_split(job, range, at)
            }
            ChangeRequest::Merge { left, right } => self.begin_merge(job, left, right),
        }
    }

    pub(super) fn begin_split(
        &mut self,
        job: JobId,
        range: RangeId,
        at: Bytes,
    ) -> Result<(), ChangeRefused> {
        let old = self.spec(range)?.bounds;
        let (left, right) = self.next_ids();
        let before = Bounds {
            start: old.start,
            end: Some(at.clone()),
        };
        let after = Bounds {
            start: at.clone(),
            end: old.end,
        };
        let new = [(left, before), (right, after)].map(|(id, bounds)| NewRange {
            parts: vec![part(range, &bounds)],
            spec: self.new_spec(id, bounds),
        });
        let record = ChangeRecord::Split {
            range: range.0,
            at,
            left: left.0,
            right: right.0,
        };
        self.planned(job, record, Vec::from(new));
        Ok(())
    }

    fn begin_merge(
        &mut self,
        job: JobId,
        left: RangeId,
        right: RangeId,
    ) -> Result<(), ChangeRefused> {
        let [a, b] = self.neighbours(left, right)?;
        let (into, _) = self.next_ids();
        let parts = vec![part(left, &a.bounds), part(right, &b.bounds)];
        let bounds = Bounds {
            start: a.bounds.start,
            end: b.bounds.end,
        };
        let new = NewRange {
            spec: self.new_spec(into, bounds),
            parts,
        };
        let record = ChangeRecord::Merge {
            left: left.0,
            right: right.0,
            into: into.0,
        };
        self.planned(job, record, vec![new]);
        Ok(())
    }

    fn next_ids(&self) -> (RangeId, RangeId) {
        let next = self.record.next_range;
        (RangeId(next), RangeId(next + 1))
    }

    fn new_spec(&self, id: RangeId, bounds: Bounds) -> RangeSpec {
        RangeSpec {
            id,
            epoch: self.record.next_epoch,
            bounds,
        }
    }

    /// Starts a planned change. Before that, rolls back an unfinished change, whose databases the next record would not
    /// list.
    fn planned(&mut self, job: JobId, record: ChangeRecord, new: Vec<NewRange>) {
        let old = record.replaced();
        let change = RangeChange { record, old, new };
        match &self.record.change {
            Some(unfinished) => {
                let databases = unfinished.created();
                self.remove_new(job, databases, Then::Change(change));
            }
            None => self.flush(job, change),
        }
    }

    pub(super) fn flush(&mut self, job: JobId, change: RangeChange) {
        let task = Task::Flush(change.old.clone());
        self.run_holding(job, Phase::Flushing(change), task);
    }

    pub(super) fn flushed(&mut self, job: JobId, change: RangeChange) {
        let record = self.record.begin(change.record.clone());
        self.save(job, record, SaveReason::Begin, AfterSave::Change(change));
    }

    pub(super) fn change(&mut self, job: JobId, change: RangeChange) {
        let mut decision = self.record.decide(&specs(&change));
        decision.writer = self.term;
        self.undecided.clone_from(&change.old);
        let task = Task::Change(change.clone(), decision.clone());
        self.run_holding(job, Phase::Changing { change, decision }, task);
    }

    pub(super) fn changed(
        &mut self,
        job: JobId,
        change: RangeChange,
        decision: MapRecord,
        result: Result<Duration, ChangeFailed>,
    ) {
        match result {
            Ok(transit) => {
                self.record = decision;
                self.undecided.clear();
                self.unannounced.extend(change.record.created());
                self.out.push(Action::Announce);
                self.finish(job, Ok(outcome(change.record, transit)));
            }
            Err(ChangeFailed { why, leftover }) => {
                let (databases, then) = (change.record.created(), Then::Refuse(why));
                match leftover {
                    Leftover::Closed => {
                        self.undecided.clear();
                        self.remove_new(job, databases, then);
                    }
                    Leftover::Unfinished => self.save_rollback(job, databases, then),
                }
            }
        }
    }
}

fn specs(change: &RangeChange) -> Vec<RangeSpec> {
    change.new.iter().map(|new| new.spec.clone()).collect()
}

fn outcome(record: ChangeRecord, transit: Duration) -> Outcome {
    match record {
        ChangeRecord::Split {
            at, left, right, ..
        } => Outcome::Split(Split {
            left: RangeId(left),
            right: RangeId(right),
            at,
            transit,
        }),
        ChangeRecord::Merge { into, .. } => Outcome::Merged(Merged {
            into: RangeId(into),
            transit,
        }),
    }
}

fn part(source: RangeId, bounds: &Bounds) -> KeyPart {
    let range = keys_within(bounds);
    KeyPart { source, range }
}

/// The start of the partition that holds `key`, if it is inside the bounds but not at their start.
fn partition_start(bounds: &Bounds, key: &Bytes) -> Option<Bytes> {
    let start = key.slice_ref(indivisible_prefix(key)?);
    (start > bounds.start && bounds.contains(&start)).then_some(start)
}
