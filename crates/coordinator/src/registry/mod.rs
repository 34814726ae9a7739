//! The interface to the store of keys that coordinates a cluster: what this crate needs of etcd, and nothing else.
//!
//! Guarantees of every registry:
//! - Every transaction that changes a key gets a revision, greater than all before. [`Registry::get`],
//!   [`Registry::list`] and transactions see all transactions that ended before they began.
//! - A lease lives for its TTL after the last keepalive that was answered, and at least that long. At its end, all of its
//!   keys are deleted in one transaction.
//! - A watch yields every change after its revision, in order and in whole transactions, until it yields
//!   [`WatchEvent::Compacted`] or [`WatchEvent::Lost`]. Then its user reads anew: a watch is never resumed, because the
//!   revisions of a registry that lost its data begin anew.
//!
//! Deleting keys by hand does not end leases. `docs/design/0008-coordination.md` says what follows from that.

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod memory;

use std::fmt::{self, Debug};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

pub use memory::MemoryRegistry;

/// The number of a transaction. 0 stands for a key that does not exist.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The id of a lease, never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeaseId(pub u64);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The key, without the registry's prefix.
    pub key: String,
    /// The value.
    pub value: Bytes,
    /// The transaction that created the key.
    pub create_revision: Revision,
    /// The last transaction that wrote it.
    pub mod_revision: Revision,
    /// The lease that it ends with.
    pub lease: Option<LeaseId>,
}

/// All keys with a prefix, at one revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The revision.
    pub revision: Revision,
    /// The keys in order.
    pub entries: Vec<Entry>,
}

/// A condition of a transaction. An absent key has revision 0 and no lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// The key was created by this transaction.
    CreatedAt(String, Revision),
    /// The key was last written by this transaction.
    ModifiedAt(String, Revision),
    /// The key has this lease.
    HasLease(String, LeaseId),
    /// The key is absent, or has another lease or none.
    LacksLease(String, LeaseId),
}

/// A change of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Writes a key, under a lease or without one.
    Put(String, Bytes, Option<LeaseId>),
    /// Deletes a key, if it exists.
    Delete(String),
}

/// Changes that are made together if all conditions hold. A transaction changes a key at most once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Transaction {
    /// The conditions.
    pub compares: Vec<Compare>,
    /// The changes.
    pub changes: Vec<Operation>,
    /// The keys to read when a condition does not hold.
    pub otherwise: Vec<String>,
}

/// The most conditions, changes, or keys to read that a transaction may have: etcd's default.
pub const TRANSACTION_MAX: usize = 128;

/// What became of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All conditions held, and the changes were made under this revision.
    Committed(Revision),
    /// A condition did not hold, and nothing was changed. The keys in the order of [`Transaction::otherwise`].
    Refused(Vec<Option<Entry>>),
}

/// A granted lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// Its id.
    pub lease: LeaseId,
    /// How long it lives after the grant and after each keepalive. May be longer than requested.
    pub ttl: Duration,
}

/// A change of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// It was written.
    Put(Entry),
    /// It was deleted, by a transaction or at the end of its lease.
    Deleted(String),
}

/// What a watch yields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WatchEvent {
    /// The changes of one or more whole transactions, up to this revision.
    Changed(Revision, Vec<Change>),
    /// The history back to the requested revision is gone. The watch is over.
    Compacted,
    /// The connection was lost. The watch is over.
    Lost,
}

/// Why a registry did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegistryError {
    /// The request was not executed. Can be retried.
    #[error("the coordinator is unavailable: {0}")]
    Unavailable(String),
    /// The request may have been executed: read before trying again.
    #[error("the coordinator did not answer: {0}")]
    Unknown(String),
    /// A change names a lease that has ended. Nothing was changed.
    #[error("the lease has ended")]
    LeaseEnded,
    /// The registry refused the request, which a retry does not change.
    #[error("the coordinator refused the request: {0}")]
    Refused(String),
}

/// A registry. Used as `Arc<dyn Registry>`. A call that is dropped may still be executed.
#[async_trait]
pub trait Registry: Debug + Send + Sync + 'static {
    /// Reads a key.
    ///
    /// # Errors
    /// [`RegistryError`].
    async fn get(&self, key: &str) -> Result<Option<Entry>, RegistryError>;

    /// Reads all keys that begin with `prefix`.
    ///
    /// # Errors
    /// [`RegistryError`].
    async fn list(&self, prefix: &str) -> Result<Listing, RegistryError>;

    /// Executes a transaction.
    ///
    /// # Errors
    /// [`RegistryError`]; it may have been executed in the case of [`RegistryError::Unknown`] only.
    async fn commit(&self, transaction: Transaction) -> Result<Outcome, RegistryError>;

    /// Watches the keys that begin with `prefix`, for all changes from revision `from` on.
    ///
    /// # Errors
    /// [`RegistryError`].
    async fn watch(&self, prefix: &str, from: Revision) -> Result<Box<dyn Watch>, RegistryError>;

    /// Grants a lease of at least `ttl`.
    ///
    /// # Errors
    /// [`RegistryError`]; a lease whose grant was not answered ends by itself.
    async fn grant(&self, ttl: Duration) -> Result<Granted, RegistryError>;

    /// Renews a lease for its TTL, and returns the TTL. `None` if the lease has ended.
    ///
    /// # Errors
    /// [`RegistryError`].
    async fn keep_alive(&self, lease: LeaseId) -> Result<Option<Duration>, RegistryError>;

    /// Ends a lease now. Succeeds if it has ended.
    ///
    /// # Errors
    /// [`RegistryError`].
    async fn revoke(&self, lease: LeaseId) -> Result<(), RegistryError>;
}

/// The changes of keys, in order.
#[async_trait]
pub trait Watch: Send {
    /// Waits for the next changes. Cancel safe.
    async fn next(&mut self) -> WatchEvent;
}
