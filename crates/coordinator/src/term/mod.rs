//! The term of an elected manager: it assigns ranges to servers.
//!
//! A manager may be paused for any time between reading and writing, so each transaction compares what it read (rule I3):
//! the term, the key of every range that it changes, and that the old owner's life is over.
//!
//! Two cases wait in addition, because there the old owner's gate can still be open:
//! - The life was expelled. Its key `expelled/LIFE` blocks assignments until [`Term::settle`] has waited.
//! - The range has no key: it is new, or the registry was wiped. The term waits from the moment that it read the key as absent.

mod election;
mod placement;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use partita_rt::Clock;

use crate::lease::Timing;
use crate::member::Member;
use crate::record::{
    BALANCE, BalanceRecord, Life, MANAGER, MAP, MapRecord, Owner, RangeId, RangeRecord, RangeShape,
    RangeState, RecordError, VERSION, VersionRecord, encode, expelled_key, range_key,
};
use crate::registry::{
    Compare, Operation, Outcome, Registry, RegistryError, Revision, Transaction,
};
use crate::routes::{Stored, Table};

pub use election::Election;
pub use placement::{ASSIGN_MAX, Placement, Seen};

/// The term of this life as manager. It may be over without being noticed: then all calls are refused.
#[derive(Debug)]
pub struct Term {
    registry: Arc<dyn Registry>,
    clock: Arc<dyn Clock>,
    owner: Owner,
    number: Revision,
    timing: Timing,
    /// When this term read that a range has no key.
    absent_since: Mutex<BTreeMap<RangeId, Duration>>,
}

/// Why a manager cannot do what it wants.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TermError {
    /// Another manager was or can be elected.
    #[error("the term as manager is over")]
    Over,
    /// The key of a range is not the one that was seen.
    #[error("range {0} was changed since")]
    Changed(RangeId),
    /// The owner of the range is alive.
    #[error("range {0} has an owner that is alive")]
    OwnerAlive(RangeId),
    /// The owner of the range was expelled, and its expulsion is not settled.
    #[error("the expulsion of life {1}, which owns range {0}, is not settled")]
    NotSettled(RangeId, Life),
    /// The life that is to serve the range is over.
    #[error("life {1}, to which range {0} was to be assigned, is over")]
    TargetGone(RangeId, Life),
    /// The range has no key, and its last owner's gate may be open for this long.
    #[error("range {0} can be assigned in {1:?}")]
    TooEarly(RangeId, Duration),
    /// The ranges of a change of shape are not all served by one life, or not all released.
    #[error("range {0} is not served by the owner of the other ranges of the change")]
    NotOneOwner(RangeId),
    /// The version of the cluster is not the one that was seen.
    #[error("the version of the cluster was changed since")]
    VersionChanged,
    /// A key cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The registry failed. After an unknown outcome, read the table and decide anew.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl Term {
    fn new(member: &Member, number: Revision) -> Self {
        Self {
            registry: Arc::clone(&member.registry),
            clock: Arc::clone(&member.clock),
            owner: member.owner().clone(),
            number,
            timing: member.timing(),
            absent_since: Mutex::default(),
        }
    }

    /// The number of the term. It is in the records of the partition map that the manager saves.
    #[must_use]
    pub fn number(&self) -> Revision {
        self.number
    }

    /// Whether the term is not over. A manager calls it between listing the partition map and its first save, so that a
    /// paused manager of an earlier term saves nothing.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn confirm(&self) -> Result<bool, RegistryError> {
        let manager = self.registry.get(MANAGER).await?;
        Ok(manager.is_some_and(|manager| {
            manager.create_revision == self.number && manager.lease == Some(self.owner.life.0)
        }))
    }

    /// All keys, as of now.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn table(&self) -> Result<Table, RegistryError> {
        Table::read(&*self.registry).await
    }

    /// The comparisons that the term is not over. The lease is compared too, because a registry that lost its data can
    /// give a revision a second time.
    fn in_term(&self) -> [Compare; 2] {
        [
            Compare::CreatedAt(MANAGER.to_owned(), self.number),
            Compare::HasLease(MANAGER.to_owned(), self.owner.life.0),
        ]
    }

    /// Ends the term, so that another manager can be elected at once.
    ///
    /// # Errors
    /// [`RegistryError`]; the term ends with the lease.
    pub async fn end(&self) -> Result<(), RegistryError> {
        let transaction = Transaction {
            compares: self.in_term().into(),
            changes: vec![Operation::Delete(MANAGER.to_owned())],
            otherwise: Vec::new(),
        };
        self.registry.commit(transaction).await.map(drop)
    }

    /// Says whether managers balance, from now on and in later terms. A registry that loses its data forgets it.
    ///
    /// # Errors
    /// [`TermError::Over`], [`TermError::Registry`].
    pub async fn set_balance(&self, on: bool) -> Result<(), TermError> {
        let record = encode(&BalanceRecord { on });
        let transaction = Transaction {
            compares: self.in_term().into(),
            changes: vec![Operation::Put(BALANCE.to_owned(), record, None)],
            otherwise: Vec::new(),
        };
        match self.registry.commit(transaction).await? {
            Outcome::Committed(_) => Ok(()),
            Outcome::Refused(_) => Err(TermError::Over),
        }
    }

    /// Sets the version of the cluster, if the key was not changed since `seen`; 0 stands for no key. Returns the new
    /// revision.
    ///
    /// # Errors
    /// [`TermError::Over`], [`TermError::VersionChanged`], [`TermError::Registry`].
    pub async fn set_version(
        &self,
        seen: Revision,
        version: VersionRecord,
    ) -> Result<Revision, TermError> {
        let mut compares = Vec::from(self.in_term());
        compares.push(Compare::ModifiedAt(VERSION.to_owned(), seen));
        let transaction = Transaction {
            compares,
            changes: vec![Operation::Put(VERSION.to_owned(), encode(&version), None)],
            otherwise: vec![MANAGER.to_owned()],
        };
        match self.registry.commit(transaction).await? {
            Outcome::Committed(revision) => Ok(revision),
            Outcome::Refused(read) => {
                let manager = read.into_iter().next().flatten();
                Err(match self.is_own(manager.as_ref()) {
                    true => TermError::VersionChanged,
                    false => TermError::Over,
                })
            }
        }
    }

    /// Completes the expulsion of a life: ends its lease, waits until its gate is surely closed, and then allows its
    /// ranges to be assigned. Repeat it after an error; it then waits from the beginning. Cancel safe.
    ///
    /// # Errors
    /// [`TermError::Over`], [`TermError::Registry`].
    pub async fn settle(&self, life: Life, lease: Duration) -> Result<(), TermError> {
        // The process that expelled it may have died before its revoke.
        self.registry.revoke(life.0).await?;
        let closed_at = self.clock.boot() + Timing { ttl: lease }.surely_closed_after();
        loop {
            let left = closed_at.saturating_sub(self.clock.boot());
            if left.is_zero() {
                break;
            }
            tokio::time::sleep(left).await;
        }
        let transaction = Transaction {
            compares: self.in_term().into(),
            changes: vec![Operation::Delete(expelled_key(life))],
            otherwise: Vec::new(),
        };
        match self.registry.commit(transaction).await? {
            Outcome::Committed(_) => Ok(()),
            Outcome::Refused(_) => Err(TermError::Over),
        }
    }

    /// Replaces the keys of ranges by those of the ranges after a decided change of shape, in one transaction, and sets
    /// the version of the map that the keys reflect. The new ranges have the owner of the old ones, which serves them
    /// already. Returns the revision of the new keys: the tenures begin with it.
    ///
    /// # Errors
    /// [`TermError`]; nothing was replaced.
    pub async fn replace(
        &self,
        old: &[(RangeId, Stored<RangeRecord>)],
        new: &[(RangeId, RangeShape)],
        map_version: u64,
    ) -> Result<Revision, TermError> {
        let mut compares = Vec::from(self.in_term());
        let mut changes = Vec::new();
        let mut state = None;
        let mut logs = Vec::new();
        for (range, seen) in old {
            logs.extend(&seen.record.logs);
            let of_range = without_assignment(&seen.record.state)
                .filter(|of_range| state.as_ref().is_none_or(|state| state == of_range))
                .ok_or(TermError::NotOneOwner(*range))?;
            state = Some(of_range);
            compares.push(Compare::ModifiedAt(range_key(*range), seen.revision));
            changes.push(Operation::Delete(range_key(*range)));
        }
        let state = state.unwrap_or(RangeState::Released);
        logs.sort_unstable();
        logs.dedup();
        for (range, shape) in new {
            let record = RangeRecord {
                shape: shape.clone(),
                logs: logs.clone(),
                state: state.clone(),
            };
            let key = range_key(*range);
            compares.push(Compare::CreatedAt(key.clone(), Revision(0)));
            changes.push(Operation::Put(key, encode(&record), None));
        }
        let map = MapRecord {
            version: map_version,
        };
        changes.push(Operation::Put(MAP.to_owned(), encode(&map), None));
        self.forget_absence(new.iter().map(|(range, _)| *range));
        let ranges = || old.iter().map(|(range, seen)| (*range, seen.revision));
        let transaction = Transaction {
            compares,
            changes,
            otherwise: std::iter::once(MANAGER.to_owned())
                .chain(ranges().map(|(range, _)| range_key(range)))
                .collect(),
        };
        let mut read = match self.registry.commit(transaction).await? {
            Outcome::Committed(revision) => return Ok(revision),
            Outcome::Refused(read) => read.into_iter(),
        };
        if !self.is_own(read.next().flatten().as_ref()) {
            return Err(TermError::Over);
        }
        let changed = ranges().zip(read).find(|((_, seen), entry)| {
            entry.as_ref().map(|entry| entry.mod_revision) != Some(*seen)
        });
        // Else one of the new ranges has a key.
        let first_new = new.first().map_or(RangeId::default(), |(range, _)| *range);
        Err(TermError::Changed(
            changed.map_or(first_new, |((range, _), _)| range),
        ))
    }

    fn is_own(&self, manager: Option<&crate::registry::Entry>) -> bool {
        manager.is_some_and(|manager| {
            manager.create_revision == self.number && manager.lease == Some(self.owner.life.0)
        })
    }
}

/// The state of ranges that replace one with this state. Nothing for a range that is being opened.
fn without_assignment(state: &RangeState) -> Option<RangeState> {
    match state {
        RangeState::Opening { .. } => None,
        RangeState::Serving { owner, .. } => Some(RangeState::Serving {
            owner: owner.clone(),
            assigned: None,
        }),
        RangeState::Released => Some(RangeState::Released),
    }
}
