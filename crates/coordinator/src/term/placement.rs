//! The assignment of ranges.

use std::time::Duration;

use super::{Term, TermError};
use crate::ownership::Assignment;
use crate::record::{
    LogNumber, MANAGER, Owner, RangeId, RangeRecord, RangeShape, RangeState, encode, expelled_key,
    range_key, server_key,
};
use crate::registry::{Compare, Entry, Operation, Outcome, Revision, TRANSACTION_MAX, Transaction};
use crate::routes::Stored;

/// Ranges that one transaction assigns at most: each has four conditions.
pub const ASSIGN_MAX: usize = (TRANSACTION_MAX - 2) / 4;

/// The key of a range as the manager saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    /// The range has a key.
    Key(Stored<RangeRecord>),
    /// It has none: it is new, or the registry was wiped.
    Absent {
        /// What the partition map says about it.
        shape: RangeShape,
        /// After a wipe: every log that still has groups, sealed or not. A take-over that the wipe interrupted may have
        /// sealed a log without replaying it.
        logs: Vec<LogNumber>,
    },
}

/// A range that is to be assigned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The range.
    pub range: RangeId,
    /// Its key.
    pub seen: Seen,
    /// The life that is to serve it.
    pub to: Owner,
}

impl Placement {
    fn shape(&self) -> &RangeShape {
        match &self.seen {
            Seen::Key(stored) => &stored.record.shape,
            Seen::Absent { shape, .. } => shape,
        }
    }

    fn is_of_absent_key(&self) -> bool {
        matches!(self.seen, Seen::Absent { .. })
    }

    fn revision(&self) -> Revision {
        match &self.seen {
            Seen::Key(stored) => stored.revision,
            Seen::Absent { .. } => Revision(0),
        }
    }

    fn old_owner(&self) -> Option<&Owner> {
        match &self.seen {
            Seen::Key(stored) => stored.record.owner(),
            Seen::Absent { .. } => None,
        }
    }

    /// The key after the assignment. `logs` of a range that is served names its owner, of one that is opened those whose
    /// replay was not finished, of a released one none.
    fn record(&self) -> RangeRecord {
        RangeRecord {
            shape: self.shape().clone(),
            state: RangeState::Opening {
                owner: self.to.clone(),
            },
            logs: match &self.seen {
                Seen::Key(stored) => stored.record.logs.clone(),
                Seen::Absent { logs, .. } => logs.clone(),
            },
        }
    }

    /// The conditions of rule I3, without the term.
    fn compares(&self) -> impl Iterator<Item = Compare> + use<> {
        let unchanged = Compare::ModifiedAt(range_key(self.range), self.revision());
        let target = Compare::HasLease(server_key(&self.to.name), self.to.life.0);
        let old_gone = self.old_owner().map(|old| {
            [
                // A life, not a name: a restarted process has the name of its predecessor.
                Compare::LacksLease(server_key(&old.name), old.life.0),
                Compare::CreatedAt(expelled_key(old.life), Revision(0)),
            ]
        });
        [unchanged, target]
            .into_iter()
            .chain(old_gone.into_iter().flatten())
    }

    /// The keys that tell why a placement was refused.
    fn evidence(&self) -> [String; 4] {
        let old = self.old_owner().unwrap_or(&self.to);
        [
            range_key(self.range),
            server_key(&self.to.name),
            server_key(&old.name),
            expelled_key(old.life),
        ]
    }

    /// Why it was refused, if it was.
    fn refusal(&self, evidence: &[Option<Entry>]) -> Option<TermError> {
        let [range, target, old, expelled] = evidence else {
            return None;
        };
        let lease = |entry: &Option<Entry>| entry.as_ref().and_then(|entry| entry.lease);
        let revision = range.as_ref().map_or(Revision(0), |key| key.mod_revision);
        let id = self.range;
        if revision != self.revision() {
            return Some(TermError::Changed(id));
        }
        if lease(target) != Some(self.to.life.0) {
            return Some(TermError::TargetGone(id, self.to.life));
        }
        let owner = self.old_owner()?;
        if lease(old) == Some(owner.life.0) {
            return Some(TermError::OwnerAlive(id));
        }
        expelled
            .is_some()
            .then_some(TermError::NotSettled(id, owner.life))
    }
}

impl Term {
    /// Assigns ranges, at most [`ASSIGN_MAX`], in one transaction: all or none.
    ///
    /// # Errors
    /// [`TermError`]; nothing was assigned, except perhaps after [`RegistryError::Unknown`](crate::RegistryError::Unknown).
    pub async fn assign(&self, placements: &[Placement]) -> Result<Vec<Assignment>, TermError> {
        let absent = placements.iter().filter(|it| it.is_of_absent_key());
        let absent: Vec<RangeId> = absent.map(|placement| placement.range).collect();
        self.check_absent(&absent).await?;
        let records: Vec<RangeRecord> = placements.iter().map(Placement::record).collect();
        let mut compares = Vec::from(self.in_term());
        for compare in placements.iter().flat_map(Placement::compares) {
            // Many ranges have one old owner, and one new one.
            if !compares.contains(&compare) {
                compares.push(compare);
            }
        }
        let puts = placements.iter().zip(&records).map(|(placement, record)| {
            Operation::Put(range_key(placement.range), encode(record), None)
        });
        let evidence = placements.iter().flat_map(Placement::evidence);
        let transaction = Transaction {
            compares,
            changes: puts.collect(),
            otherwise: std::iter::once(MANAGER.to_owned())
                .chain(evidence)
                .collect(),
        };
        self.forget_absence(placements.iter().map(|placement| placement.range));
        match self.registry.commit(transaction).await? {
            Outcome::Committed(revision) => {
                let assigned = placements.iter().zip(records);
                Ok(assigned
                    .map(|(placement, record)| Assignment {
                        range: placement.range,
                        revision,
                        record,
                    })
                    .collect())
            }
            Outcome::Refused(read) => Err(self.refused(placements, &read)),
        }
    }

    /// This term may have given these ranges a key.
    pub(super) fn forget_absence(&self, ranges: impl Iterator<Item = RangeId>) {
        let mut absent_since = self.absent_since.lock();
        for range in ranges {
            absent_since.remove(&range);
        }
    }

    fn refused(&self, placements: &[Placement], read: &[Option<Entry>]) -> TermError {
        let Some((manager, evidence)) = read.split_first() else {
            return TermError::Over;
        };
        if !self.is_own(manager.as_ref()) {
            return TermError::Over;
        }
        placements
            .iter()
            .zip(evidence.chunks(4))
            .find_map(|(placement, evidence)| placement.refusal(evidence))
            .unwrap_or(TermError::Over)
    }

    /// Refuses ranges that have no key until the gates of their last owners are surely closed. Time counts from the moment
    /// that this term read the keys as absent, for all of `ranges` together. From then on only this term can write one, and
    /// then it forgets the time.
    ///
    /// # Errors
    /// [`TermError::TooEarly`] names the longest wait, [`TermError::Changed`] a range that has a key.
    pub async fn check_absent(&self, ranges: &[RangeId]) -> Result<(), TermError> {
        let is_known = {
            let absent_since = self.absent_since.lock();
            ranges.iter().all(|range| absent_since.contains_key(range))
        };
        if !is_known {
            self.read_absent(ranges).await?;
        }
        let (absent_since, now) = (self.absent_since.lock(), self.clock.boot());
        let waits = ranges.iter().map(|range| {
            let since = absent_since.get(range).copied().unwrap_or(now);
            let wait = (since + self.timing.surely_closed_after()).saturating_sub(now);
            (*range, wait)
        });
        match waits.max_by_key(|(_, wait)| *wait) {
            Some((range, wait)) if wait > Duration::ZERO => Err(TermError::TooEarly(range, wait)),
            _ => Ok(()),
        }
    }

    /// Notes that ranges have no key, in one read of all keys: a wipe takes the keys of all ranges.
    async fn read_absent(&self, ranges: &[RangeId]) -> Result<(), TermError> {
        let table = self.table().await?;
        let mut present = ranges.iter().filter(|it| table.ranges().contains_key(it));
        if let Some(range) = present.next() {
            return Err(TermError::Changed(*range));
        }
        let (mut absent_since, now) = (self.absent_since.lock(), self.clock.boot());
        for range in ranges {
            absent_since.entry(*range).or_insert(now);
        }
        Ok(())
    }
}
