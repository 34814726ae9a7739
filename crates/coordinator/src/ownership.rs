//! What a host does with the ranges that it is assigned: check, activate, release.
//!
//! ```text
//!  opening ── activate ──▶ serving ── release ──▶ released
//!     ▲                       │ the owner's lease ends  │
//!     └──────── assign ───────┴─────────────────────────┘      (term.rs)
//! ```

use crate::member::Member;
use crate::record::{
    Owner, RangeId, RangeRecord, RangeState, RecordError, decode, encode, range_key, server_key,
};
use crate::registry::{Compare, Entry, Operation, Outcome, RegistryError, Revision, Transaction};
use crate::routes::Stored;

/// An instruction to a host to open and serve a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The range.
    pub range: RangeId,
    /// Distinguishes this assignment from others of the range.
    pub revision: Revision,
    /// Its key, with the logs that must be replayed.
    pub record: RangeRecord,
}

/// The time during which a host serves a range. A request to change or release the range names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tenure {
    /// The range.
    pub range: RangeId,
    /// The revision of the range's key. The tenure is over when the key has another one.
    pub revision: Revision,
    /// The range's key.
    pub record: RangeRecord,
}

/// Why a host may not serve a range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OwnershipError {
    /// The range was assigned or replaced since.
    #[error("range {0} was assigned or replaced since")]
    Superseded(RangeId),
    /// This life is over. The host closes all ranges and joins again.
    #[error("the lease of this server has ended")]
    LifeOver,
    /// The key of the range cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The registry failed. The call can be repeated, also when its outcome is unknown.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl Assignment {
    /// The assignment of a range to `owner`, if its key is one.
    #[must_use]
    pub fn of(range: RangeId, key: &Stored<RangeRecord>, owner: &Owner) -> Option<Self> {
        let opening = RangeState::Opening {
            owner: owner.clone(),
        };
        (key.record.state == opening).then(|| Self {
            range,
            revision: key.revision,
            record: key.record.clone(),
        })
    }
}

impl Member {
    /// Whether an assignment is still the newest one. A host that claims the manifest calls it between reading the
    /// manifest's epoch and claiming the next one, so that a late host cannot fence the right owner (rule I2).
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn check(&self, assignment: &Assignment) -> Result<bool, RegistryError> {
        let entry = self.registry.get(&range_key(assignment.range)).await?;
        Ok(entry.is_some_and(|entry| entry.mod_revision == assignment.revision))
    }

    /// Allows this host to serve the range (rule I4). A host calls it after it has opened the database, replayed the logs
    /// and flushed, before it serves the first request. From then on, the next owner replays the log of this process.
    ///
    /// # Errors
    /// [`OwnershipError`]: the host must not serve the range.
    pub async fn activate(&self, assignment: &Assignment) -> Result<Tenure, OwnershipError> {
        let (range, life) = (assignment.range, self.owner.life);
        let record = RangeRecord {
            shape: assignment.record.shape.clone(),
            state: RangeState::Serving {
                owner: self.owner.clone(),
                assigned: Some(assignment.revision.0),
            },
            logs: self.info.log.into_iter().collect(),
        };
        let tenure = |revision| Tenure {
            range,
            revision,
            record: record.clone(),
        };
        match self.write(range, assignment.revision, &record).await? {
            Written::Done(revision) => Ok(tenure(revision)),
            // An earlier attempt succeeded, whose answer was lost.
            Written::Refused(Some(entry))
                if decode::<RangeRecord>(&entry.key, &entry.value)?
                    .serves(life, assignment.revision) =>
            {
                Ok(tenure(entry.mod_revision))
            }
            Written::Refused(_) => Err(OwnershipError::Superseded(range)),
        }
    }

    /// Gives a range away. The host has flushed and closed it before, so its next owner has no log to replay.
    ///
    /// # Errors
    /// [`OwnershipError`]; when repeated after an unknown outcome, [`OwnershipError::Superseded`] also means that it was
    /// released. Either way, this host does not serve the range any more.
    pub async fn release(&self, tenure: &Tenure) -> Result<(), OwnershipError> {
        let record = RangeRecord {
            shape: tenure.record.shape.clone(),
            state: RangeState::Released,
            logs: Vec::new(),
        };
        match self.write(tenure.range, tenure.revision, &record).await? {
            Written::Done(_) => Ok(()),
            Written::Refused(_) => Err(OwnershipError::Superseded(tenure.range)),
        }
    }

    /// Gives an assignment back that this host cannot activate. The next owner needs the same logs.
    ///
    /// # Errors
    /// [`OwnershipError`].
    pub async fn decline(&self, assignment: &Assignment) -> Result<(), OwnershipError> {
        let record = RangeRecord {
            shape: assignment.record.shape.clone(),
            state: RangeState::Released,
            logs: assignment.record.logs.clone(),
        };
        let range = assignment.range;
        match self.write(range, assignment.revision, &record).await? {
            Written::Done(_) => Ok(()),
            Written::Refused(_) => Err(OwnershipError::Superseded(range)),
        }
    }

    /// Writes the key of a range if it still has `seen`, and if this life has its lease: a registry that lost its data can
    /// give a revision a second time, but a lease never.
    async fn write(
        &self,
        range: RangeId,
        seen: Revision,
        record: &RangeRecord,
    ) -> Result<Written, OwnershipError> {
        let (key, own_key) = (range_key(range), server_key(&self.owner.name));
        let transaction = Transaction {
            compares: vec![Compare::ModifiedAt(key.clone(), seen), self.alive()],
            changes: vec![Operation::Put(key.clone(), encode(record), None)],
            otherwise: vec![own_key, key],
        };
        let mut read = match self.registry.commit(transaction).await? {
            Outcome::Committed(revision) => return Ok(Written::Done(revision)),
            Outcome::Refused(read) => read.into_iter(),
        };
        let own = read.next().flatten();
        if own.and_then(|own| own.lease) != Some(self.owner.life.0) {
            return Err(OwnershipError::LifeOver);
        }
        Ok(Written::Refused(read.next().flatten()))
    }
}

enum Written {
    Done(Revision),
    /// With the key as it is.
    Refused(Option<Entry>),
}
