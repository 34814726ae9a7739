//! A registry in the memory of the process, for tests and the simulation.
//!
//! Leases end by the clock that the registry was given. Every call first ends the leases whose time is over, and a
//! waiting watch does so when the next one is due, so an expiry needs neither a thread nor a task.

mod store;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use partita_rt::Clock;
use tokio::sync::watch::Sender;

use super::{
    Entry, Granted, LeaseId, Listing, Outcome, Registry, RegistryError, Revision, Transaction,
    Watch,
};
use store::{Lease, Store};
use watch::MemoryWatch;

/// A registry in memory. Clones share the same keys.
#[derive(Clone, Debug)]
pub struct MemoryRegistry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    store: Mutex<Store>,
    /// The revision of the newest transaction. Watches wait for it.
    newest: Sender<u64>,
}

impl MemoryRegistry {
    /// An empty registry, whose leases end by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(Shared {
                clock,
                store: Mutex::new(Store::new()),
                newest: Sender::new(1),
            }),
        }
    }

    /// Drops the history up to and including `revision`, as etcd does when it is compacted.
    pub fn compact(&self, revision: Revision) {
        let _ = self.run(|store| {
            store.compacted = store.compacted.max(revision.0);
            store.history.retain(|(made, _)| *made > revision);
        });
        // Watches that are behind must notice.
        self.shared.newest.send_modify(|_| ());
    }

    /// Deletes all keys, as `etcdctl del --prefix ''` does. Leases live on.
    pub fn wipe(&self) {
        let _ = self.run(|store| {
            let keys: Vec<String> = store.entries.keys().cloned().collect();
            store.delete_all(keys);
        });
        self.announce();
    }

    /// Refuses all calls and ends all watches until it is set back, as if the network was cut. Leases go on to end.
    pub fn set_unreachable(&self, unreachable: bool) {
        let mut store = self.shared.store.lock();
        store.unreachable = unreachable;
        store.losses += u64::from(unreachable);
        drop(store);
        self.shared.newest.send_modify(|_| ());
    }

    /// Ends the leases whose time is over. For tests with a clock that they move by hand.
    pub fn end_leases(&self) {
        let now = self.shared.clock.boot();
        self.shared.store.lock().end_leases(now);
        self.announce();
    }

    fn run<T>(&self, work: impl FnOnce(&mut Store) -> T) -> Result<T, RegistryError> {
        let now = self.shared.clock.boot();
        let mut store = self.shared.store.lock();
        store.end_leases(now);
        let done = if store.unreachable {
            Err(RegistryError::Unavailable("unreachable".to_owned()))
        } else {
            Ok(work(&mut store))
        };
        drop(store);
        self.announce();
        done
    }

    /// Wakes the watches if there are new transactions.
    fn announce(&self) {
        let revision = self.shared.store.lock().revision;
        self.shared
            .newest
            .send_if_modified(|newest| revision > std::mem::replace(newest, revision));
    }
}

#[async_trait]
impl Registry for MemoryRegistry {
    async fn get(&self, key: &str) -> Result<Option<Entry>, RegistryError> {
        self.run(|store| store.entries.get(key).cloned())
    }

    async fn list(&self, prefix: &str) -> Result<Listing, RegistryError> {
        self.run(|store| {
            let entries = store.entries.range(prefix.to_owned()..);
            Listing {
                revision: Revision(store.revision),
                entries: entries
                    .take_while(|(key, _)| key.starts_with(prefix))
                    .map(|(_, entry)| entry.clone())
                    .collect(),
            }
        })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Outcome, RegistryError> {
        self.run(|store| store.commit(transaction))?
    }

    async fn watch(&self, prefix: &str, from: Revision) -> Result<Box<dyn Watch>, RegistryError> {
        let losses = self.run(|store| store.losses)?;
        Ok(Box::new(MemoryWatch::new(
            self.clone(),
            prefix.to_owned(),
            from,
            losses,
        )))
    }

    async fn grant(&self, ttl: Duration) -> Result<Granted, RegistryError> {
        let ends_at = self.shared.clock.boot() + ttl;
        self.run(|store| {
            store.last_lease += 1;
            let lease = LeaseId(store.last_lease);
            store.leases.insert(lease, Lease { ttl, ends_at });
            Granted { lease, ttl }
        })
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Option<Duration>, RegistryError> {
        let now = self.shared.clock.boot();
        self.run(|store| {
            store.leases.get_mut(&lease).map(|lease| {
                lease.ends_at = now + lease.ttl;
                lease.ttl
            })
        })
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), RegistryError> {
        self.run(|store| store.end_lease(lease))
    }
}

#[cfg(test)]
mod tests;
