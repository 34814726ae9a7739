//! Keys, leases and history.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::super::{
    Change, Compare, Entry, LeaseId, Operation, Outcome, RegistryError, Revision, Transaction,
};

/// Transactions that a watch can go back to.
const HISTORY_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) revision: u64,
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) leases: BTreeMap<LeaseId, Lease>,
    pub(super) last_lease: u64,
    pub(super) history: VecDeque<(Revision, Vec<Change>)>,
    /// The newest revision whose changes are no longer in the history.
    pub(super) compacted: u64,
    pub(super) unreachable: bool,
    /// Counts the losses of connections, which end all watches.
    pub(super) losses: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) ttl: Duration,
    pub(super) ends_at: Duration,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            revision: 1,
            ..Self::default()
        }
    }

    pub(super) fn end_leases(&mut self, now: Duration) {
        let over: Vec<LeaseId> = self
            .leases
            .iter()
            .filter(|(_, lease)| lease.ends_at <= now)
            .map(|(id, _)| *id)
            .collect();
        for lease in over {
            self.end_lease(lease);
        }
    }

    /// Ends a lease, and deletes its keys in one transaction.
    pub(super) fn end_lease(&mut self, lease: LeaseId) {
        self.leases.remove(&lease);
        let keys = self
            .entries
            .values()
            .filter(|entry| entry.lease == Some(lease))
            .map(|entry| entry.key.clone())
            .collect();
        self.delete_all(keys);
    }

    pub(super) fn delete_all(&mut self, keys: Vec<String>) {
        self.apply(keys.into_iter().map(Operation::Delete).collect());
    }

    fn holds(&self, compare: &Compare) -> bool {
        let entry = |key: &String| self.entries.get(key);
        match compare {
            Compare::CreatedAt(key, revision) => {
                entry(key).map_or(Revision(0), |entry| entry.create_revision) == *revision
            }
            Compare::ModifiedAt(key, revision) => {
                entry(key).map_or(Revision(0), |entry| entry.mod_revision) == *revision
            }
            Compare::HasLease(key, lease) => {
                entry(key).and_then(|entry| entry.lease) == Some(*lease)
            }
            Compare::LacksLease(key, lease) => {
                entry(key).and_then(|entry| entry.lease) != Some(*lease)
            }
        }
    }

    pub(super) fn commit(&mut self, transaction: Transaction) -> Result<Outcome, RegistryError> {
        if !transaction
            .compares
            .iter()
            .all(|compare| self.holds(compare))
        {
            let read = transaction.otherwise.iter();
            return Ok(Outcome::Refused(
                read.map(|key| self.entries.get(key).cloned()).collect(),
            ));
        }
        for change in &transaction.changes {
            if let Operation::Put(_, _, Some(lease)) = change
                && !self.leases.contains_key(lease)
            {
                return Err(RegistryError::LeaseEnded);
            }
        }
        self.apply(transaction.changes);
        Ok(Outcome::Committed(Revision(self.revision)))
    }

    /// Makes changes as one transaction, which takes a revision only if something changes.
    fn apply(&mut self, changes: Vec<Operation>) {
        let revision = Revision(self.revision + 1);
        let mut made = Vec::new();
        for change in changes {
            match change {
                Operation::Put(key, value, lease) => {
                    let before = self.entries.get(&key);
                    let entry = Entry {
                        value,
                        create_revision: before.map_or(revision, |entry| entry.create_revision),
                        mod_revision: revision,
                        lease,
                        key: key.clone(),
                    };
                    self.entries.insert(key, entry.clone());
                    made.push(Change::Put(entry));
                }
                Operation::Delete(key) => {
                    if self.entries.remove(&key).is_some() {
                        made.push(Change::Deleted(key));
                    }
                }
            }
        }
        if made.is_empty() {
            return;
        }
        self.revision = revision.0;
        self.history.push_back((revision, made));
        if self.history.len() > HISTORY_MAX {
            self.history.pop_front();
            self.compacted = self.history.front().map_or(0, |(oldest, _)| oldest.0 - 1);
        }
    }
}
