//! Splits, merges and freezes: from the request to the answer.

use super::action::{Merged, SaveReason, Split};
use super::change_lock::Phase;
use super::rollback::Then;
use super::{Action, JobId, Outcome, State};
use crate::coordinator::RangeSpec;
use crate::error::ChangeRefused;
use crate::host::{ChangeFailed, Leftover, NewRange, RangeChange};
use crate::map::{ChangeRecord, MapError, MapRecord};
use bytes::Bytes;
use partita_engine::KeyPart;
use partita_model::indivisible_prefix;
use partita_range::{Bounds, RangeId};
use std::time::Duration;

/// A change that was asked for.
#[derive(Debug)]
pub(super) enum Wish {
    Split { range: RangeId, at: Option<Bytes> },
    Merge { left: RangeId, right: RangeId },
}

/// A change with the ids it gets.
#[derive(Debug)]
pub(super) struct Plan {
    change: RangeChange,
}

impl State {
    pub(super) fn begin_split(
        &mut self,
        job: JobId,
        range: RangeId,
        at: Option<Bytes>,
        out: &mut Vec<Action>,
    ) {
        let ranges_max = self.limits.ranges_per_host_max;
        if self.record.spec(range).is_none() {
            self.finish(job, Err(ChangeRefused::NoSuchRange(range)), out);
        } else if self.record.ranges.len() >= ranges_max {
            self.finish(job, Err(ChangeRefused::TooManyRanges(ranges_max)), out);
        } else {
            self.survey(job, Wish::Split { range, at }, vec![range], out);
        }
    }

    pub(super) fn begin_merge(
        &mut self,
        job: JobId,
        left: RangeId,
        right: RangeId,
        out: &mut Vec<Action>,
    ) {
        match self.neighbours(left, right) {
            Ok(_) => self.survey(job, Wish::Merge { left, right }, vec![left, right], out),
            Err(why) => self.finish(job, Err(why), out),
        }
    }

    pub(super) fn begin_freeze(
        &mut self,
        job: JobId,
        range: RangeId,
        time: Duration,
        out: &mut Vec<Action>,
    ) {
        if self.record.spec(range).is_none() {
            return self.finish(job, Err(ChangeRefused::NoSuchRange(range)), out);
        }
        self.lock.set_phase(job, Phase::Freezing);
        out.push(Action::Freeze { job, range, time });
    }

    pub(super) fn thawed(
        &mut self,
        job: JobId,
        result: Result<(), ChangeRefused>,
        out: &mut Vec<Action>,
    ) {
        match self.lock.take_phase(job) {
            Some(Phase::Freezing) => self.finish(job, result.map(|()| Outcome::Done), out),
            other => self.lock.put_back(job, other),
        }
    }

    fn neighbours(
        &self,
        left: RangeId,
        right: RangeId,
    ) -> Result<(RangeSpec, RangeSpec), ChangeRefused> {
        let find = |id| self.record.spec(id).ok_or(ChangeRefused::NoSuchRange(id));
        let (a, b) = (find(left)?, find(right)?);
        if a.bounds.end.as_ref() == Some(&b.bounds.start) {
            Ok((a, b))
        } else {
            Err(ChangeRefused::NotNeighbours(left, right))
        }
    }

    fn survey(&mut self, job: JobId, wish: Wish, ranges: Vec<RangeId>, out: &mut Vec<Action>) {
        self.lock.set_phase(job, Phase::Surveying(wish));
        out.push(Action::Survey { job, ranges });
    }

    /// A range that shares files with too many databases is compacted first.
    pub(super) fn surveyed(
        &mut self,
        job: JobId,
        kept: Result<Vec<u64>, ChangeRefused>,
        out: &mut Vec<Action>,
    ) {
        let wish = match self.lock.take_phase(job) {
            Some(Phase::Surveying(wish)) => wish,
            other => return self.lock.put_back(job, other),
        };
        let ranges = match &wish {
            Wish::Split { range, .. } => vec![*range],
            Wish::Merge { left, right } => vec![*left, *right],
        };
        let kept = match kept {
            Ok(kept) => kept,
            Err(why) => return self.finish(job, Err(why), out),
        };
        let mut surveyed = ranges.into_iter().zip(kept);
        if let Some((range, kept)) = surveyed.find(|(_, kept)| *kept >= self.limits.ancestry_max) {
            out.push(Action::Detach { range });
            return self.finish(job, Err(ChangeRefused::Ancestry { range, kept }), out);
        }
        match wish {
            Wish::Split { range, at: None } => {
                self.lock.set_phase(job, Phase::FindingSplitKey { range });
                out.push(Action::FindSplitKey { job, range });
            }
            Wish::Split {
                range,
                at: Some(key),
            } => {
                let spec = self.record.spec(range);
                let at = spec.and_then(|spec| partition_start(&spec.bounds, &key));
                match at {
                    Some(at) => self.plan_split(job, range, at, out),
                    None => self.finish(job, Err(ChangeRefused::KeyOutside(range)), out),
                }
            }
            Wish::Merge { left, right } => self.plan_merge(job, left, right, out),
        }
    }

    pub(super) fn split_key_found(
        &mut self,
        job: JobId,
        key: Result<Bytes, ChangeRefused>,
        out: &mut Vec<Action>,
    ) {
        match (self.lock.take_phase(job), key) {
            (Some(Phase::FindingSplitKey { range }), Ok(at)) => {
                self.plan_split(job, range, at, out);
            }
            (Some(Phase::FindingSplitKey { .. }), Err(why)) => self.finish(job, Err(why), out),
            (other, _) => self.lock.put_back(job, other),
        }
    }

    fn plan_split(&mut self, job: JobId, range: RangeId, at: Bytes, out: &mut Vec<Action>) {
        let Some(old) = self.record.spec(range) else {
            return self.finish(job, Err(ChangeRefused::NoSuchRange(range)), out);
        };
        let (left, right) = self.next_ids();
        let before = Bounds {
            start: old.bounds.start,
            end: Some(at.clone()),
        };
        let after = Bounds {
            start: at.clone(),
            end: old.bounds.end,
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
        self.planned(job, record, Vec::from(new), out);
    }

    fn plan_merge(&mut self, job: JobId, left: RangeId, right: RangeId, out: &mut Vec<Action>) {
        let (a, b) = match self.neighbours(left, right) {
            Ok(neighbours) => neighbours,
            Err(why) => return self.finish(job, Err(why), out),
        };
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
        self.planned(job, record, vec![new], out);
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

    /// A change that was begun earlier and not rolled back is rolled back first: the next record would forget its databases.
    fn planned(
        &mut self,
        job: JobId,
        record: ChangeRecord,
        new: Vec<NewRange>,
        out: &mut Vec<Action>,
    ) {
        let old = record.replaced();
        let change = RangeChange { record, old, new };
        let plan = Plan { change };
        match self.record.change.clone() {
            Some(unfinished) => {
                let databases = unfinished.created();
                self.remove_new(job, databases, Then::Change(plan), out);
            }
            None => self.flush(job, plan, out),
        }
    }

    pub(super) fn flush(&mut self, job: JobId, plan: Plan, out: &mut Vec<Action>) {
        let ranges = plan.change.old.clone();
        self.lock.set_phase(job, Phase::Flushing(plan));
        out.push(Action::Flush { job, ranges });
    }

    pub(super) fn flushed(
        &mut self,
        job: JobId,
        result: Result<(), ChangeRefused>,
        out: &mut Vec<Action>,
    ) {
        let plan = match self.lock.take_phase(job) {
            Some(Phase::Flushing(plan)) => plan,
            other => return self.lock.put_back(job, other),
        };
        if let Err(why) = result {
            return self.finish(job, Err(why), out);
        }
        let record = self.record.begin(plan.change.record.clone());
        self.lock.set_phase(
            job,
            Phase::SavingBegin {
                record: record.clone(),
                plan,
            },
        );
        out.push(Action::Save {
            job,
            record,
            reason: SaveReason::Begin,
        });
    }

    pub(super) fn begin_saved(
        &mut self,
        job: JobId,
        record: MapRecord,
        plan: Plan,
        result: Result<(), MapError>,
        out: &mut Vec<Action>,
    ) {
        if let Err(error) = result {
            return self.finish(job, Err(ChangeRefused::failed(error)), out);
        }
        self.record = record;
        let change = plan.change.clone();
        let decision = self.record.decide(&specs(&change));
        self.lock.set_phase(
            job,
            Phase::Changing {
                decision: decision.clone(),
                plan,
            },
        );
        out.push(Action::Change {
            job,
            change,
            decision,
        });
    }

    pub(super) fn changed(
        &mut self,
        job: JobId,
        result: Result<Duration, ChangeFailed>,
        out: &mut Vec<Action>,
    ) {
        let (decision, plan) = match self.lock.take_phase(job) {
            Some(Phase::Changing { decision, plan }) => (decision, plan),
            other => return self.lock.put_back(job, other),
        };
        let change = plan.change;
        match result {
            Ok(transit) => {
                self.record = decision;
                let outcome = outcome(change.record.clone(), transit);
                out.push(Action::Replace {
                    new: specs(&change),
                    old: change.old,
                });
                self.finish(job, Ok(outcome), out);
            }
            Err(ChangeFailed { why, leftover }) => {
                let databases = change.record.created();
                match leftover {
                    Leftover::Closed => self.remove_new(job, databases, Then::Refuse(why), out),
                    Leftover::Unfinished => {
                        self.save_rollback(job, databases, Then::Refuse(why), out);
                    }
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
    let range = bounds.keys();
    KeyPart { source, range }
}

/// The start of the partition that holds `key`, if it lies inside the bounds and not at their start.
fn partition_start(bounds: &Bounds, key: &Bytes) -> Option<Bytes> {
    let start = key.slice_ref(indivisible_prefix(key)?);
    (start > bounds.start && bounds.contains(&start)).then_some(start)
}
