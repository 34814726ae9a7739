//! The shared state of the open databases, their commit loop and their supervisor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use slatedb::config::{DurabilityLevel, ReadOptions};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};

use super::Settings;
use super::context::Context;
use super::database::Database;
use super::home::Home;
use super::open_range::OpenRange;
use super::wal_adapter::WalAdapter;
use crate::health::HealthCell;
use crate::stats::CommitCounts;
use crate::{Health, RangeId, ReadError, Refusal};

/// The maximum number of changes of databases that run at the same time ([`Core::lock_change`]).
const CHANGES_MAX: u32 = 8;

/// The same in a store of several processes. A process takes over all ranges of another one at the same time, and each
/// waits for some dozen answers of the store.
const CHANGES_MAX_SHARED: u32 = 32;

pub(super) struct Core {
    pub(super) context: Context,
    pub(super) reads: ReadOptions,
    pub(super) health: HealthCell,
    pub(super) counts: CommitCounts,
    /// The open WAL; `None` while it is being reopened, and after the close.
    pub(super) wal: RwLock<Option<WalAdapter>>,
    /// The ranges that are open.
    pub(super) open_ranges: RwLock<BTreeMap<RangeId, Arc<OpenRange>>>,
    /// The change lock: a change of one database takes one permit, a change of all databases takes all permits.
    change_lock: Semaphore,
    /// The number of permits.
    changes_max: u32,
    /// Ranges that are being opened.
    pub(super) opening: Mutex<BTreeSet<RangeId>>,
    /// Ranges that were handed over, and whose databases are being closed.
    pub(super) closing: watch::Sender<BTreeSet<RangeId>>,
    /// Wakes the supervisor: a database failed.
    pub(super) failed: Notify,
    /// Who has taken over the store, or why this process of a cluster serves nothing more.
    pub(super) fenced: watch::Sender<Option<Arc<str>>>,
}

impl Core {
    pub(super) fn new(home: Home, settings: Settings) -> Arc<Self> {
        let changes_max = match home.shared() {
            Some(_) => CHANGES_MAX_SHARED,
            None => CHANGES_MAX,
        };
        Arc::new(Self {
            context: Context::new(home, settings),
            reads: ReadOptions::default().with_durability_filter(DurabilityLevel::Remote),
            health: HealthCell::default(),
            counts: CommitCounts::default(),
            wal: RwLock::new(None),
            open_ranges: RwLock::default(),
            change_lock: Semaphore::new(changes_max as usize),
            changes_max,
            opening: Mutex::default(),
            closing: watch::Sender::default(),
            failed: Notify::new(),
            fenced: watch::Sender::new(None),
        })
    }

    /// Takes one permit of the change lock: for opening, closing, cloning, removing, pinning or unpinning, or for a
    /// sweep of the trash. It does not exclude other changes of the same database.
    pub(super) async fn lock_change(&self) -> SemaphorePermit<'_> {
        self.lock_changes(1).await
    }

    /// Waits until no change is running, and blocks further changes until the permit is dropped.
    pub(super) async fn lock_all_changes(&self) -> SemaphorePermit<'_> {
        self.lock_changes(self.changes_max).await
    }

    async fn lock_changes(&self, permits: u32) -> SemaphorePermit<'_> {
        self.change_lock
            .acquire_many(permits)
            .await
            .expect("the semaphore is never closed")
    }

    pub(super) fn wal(&self) -> Option<WalAdapter> {
        self.wal.read().clone()
    }

    pub(super) fn open_ranges(&self) -> Vec<Arc<OpenRange>> {
        self.open_ranges.read().values().cloned().collect()
    }

    pub(super) fn open_range(&self, range: RangeId) -> Option<Arc<OpenRange>> {
        self.open_ranges.read().get(&range).cloned()
    }

    /// The open databases of the open ranges.
    pub(super) fn databases(&self) -> Vec<Arc<Database>> {
        let open = self.open_ranges.read();
        open.values().filter_map(|open| open.database()).collect()
    }

    pub(super) fn health_of(&self, open: &OpenRange) -> Health {
        if open.is_closed() {
            Health::Closed
        } else {
            self.health.get()
        }
    }

    /// The database to read from.
    pub(super) fn readable(&self, open: &OpenRange) -> Result<Arc<Database>, ReadError> {
        open.database().ok_or_else(|| match self.health_of(open) {
            Health::Closed | Health::Fenced => ReadError::Closed,
            _ => ReadError::Unavailable("the database is being opened".into()),
        })
    }

    /// Why a range without an open database refuses writes.
    pub(super) fn refusal(&self, open: &OpenRange) -> Refusal {
        self.health_of(open)
            .refusal()
            .unwrap_or(Refusal::Recovering)
    }

    /// Records that another server has taken over the store, or why this process of a cluster serves nothing more.
    pub(super) fn fence(&self, by: Arc<str>) {
        self.health.set(Health::Fenced);
        self.fenced.send_replace(Some(by));
    }

    /// Records that a database failed, and wakes the supervisor.
    pub(super) fn fail(&self) {
        self.health.set(Health::Recovering);
        self.failed.notify_one();
    }
}
