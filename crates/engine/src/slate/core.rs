//! What the databases of a process, their commit loop and their supervisor share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, RwLock};
use slatedb::config::{DurabilityLevel, ReadOptions};
use slatedb_common::{DefaultSystemClock, SystemClock};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::cache::BlockCache;
use super::home::Home;
use super::wal_adapter::WalAdapter;
use super::{Opened, Settings};
use crate::health::HealthCell;
use crate::stats::CommitCounts;
use crate::{Health, RangeId, ReadError, Refusal};

/// EngineSet that may be opened, derived or removed at the same time.
const CHANGES_MAX: u32 = 8;

pub(super) struct Core {
    pub(super) home: Home,
    pub(super) settings: Settings,
    pub(super) reads: ReadOptions,
    pub(super) cache: Arc<BlockCache>,
    /// The time of all databases, which goes on evenly from when the process began. By default each has its own, set by the wall
    /// clock when it is opened: a database derived after that was set back would lie behind its source, and refuse to read.
    pub(super) clock: Arc<dyn SystemClock>,
    pub(super) health: HealthCell,
    pub(super) counts: CommitCounts,
    /// The log as it is now; nothing while it is being opened anew, and after the end.
    pub(super) wal: RwLock<Option<WalAdapter>>,
    /// The ranges that are open.
    pub(super) slots: RwLock<BTreeMap<RangeId, Arc<Slot>>>,
    /// The ranges that were opened or made in this life.
    pub(super) known: Mutex<BTreeSet<RangeId>>,
    /// Permits for whoever opens, closes, derives or removes databases: one for a database, all of them for all.
    changing: Semaphore,
    /// Ranges that are being opened.
    pub(super) opening: Mutex<BTreeSet<RangeId>>,
    /// Wakes the supervisor: a database failed.
    pub(super) failed: Notify,
}

/// The place of an open range: its database comes and goes when the data is opened anew.
pub(super) struct Slot {
    pub(super) range: RangeId,
    opened: RwLock<Option<Arc<Opened>>>,
    /// Closed for good.
    closed: AtomicBool,
}

impl Slot {
    pub(super) fn new(opened: Opened) -> Arc<Self> {
        Arc::new(Self {
            range: opened.range,
            opened: RwLock::new(Some(Arc::new(opened))),
            closed: AtomicBool::new(false),
        })
    }

    pub(super) fn opened(&self) -> Option<Arc<Opened>> {
        self.opened.read().clone()
    }

    pub(super) fn take(&self) -> Option<Arc<Opened>> {
        self.opened.write().take()
    }

    pub(super) fn put(&self, opened: Arc<Opened>) {
        *self.opened.write() = Some(opened);
    }

    /// Takes no batches any more. Says whether it did before.
    pub(super) fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Core {
    pub(super) fn new(home: Home, settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            home,
            reads: ReadOptions::default().with_durability_filter(DurabilityLevel::Remote),
            cache: Arc::new(BlockCache::new(settings.cache_bytes)),
            settings,
            clock: Arc::new(DefaultSystemClock::new()),
            health: HealthCell::default(),
            counts: CommitCounts::default(),
            wal: RwLock::new(None),
            slots: RwLock::default(),
            known: Mutex::default(),
            changing: Semaphore::new(CHANGES_MAX as usize),
            opening: Mutex::default(),
            failed: Notify::new(),
        })
    }

    /// Waits for its turn to change one database; the turn ends when this is dropped.
    pub(super) async fn change(&self) -> SemaphorePermit<'_> {
        self.permits(1).await
    }

    /// Waits until nobody changes any database, and keeps everybody from it until this is dropped.
    pub(super) async fn change_all(&self) -> SemaphorePermit<'_> {
        self.permits(CHANGES_MAX).await
    }

    async fn permits(&self, count: u32) -> SemaphorePermit<'_> {
        self.changing
            .acquire_many(count)
            .await
            .expect("the semaphore is never closed")
    }

    pub(super) fn wal(&self) -> Option<WalAdapter> {
        self.wal.read().clone()
    }

    pub(super) fn slots(&self) -> Vec<Arc<Slot>> {
        self.slots.read().values().cloned().collect()
    }

    pub(super) fn slot(&self, range: RangeId) -> Option<Arc<Slot>> {
        self.slots.read().get(&range).cloned()
    }

    /// How a range stands.
    pub(super) fn health_of(&self, slot: &Slot) -> Health {
        if slot.is_closed() {
            Health::Closed
        } else {
            self.health.get()
        }
    }

    /// The database to read from.
    pub(super) fn readable(&self, slot: &Slot) -> Result<Arc<Opened>, ReadError> {
        slot.opened().ok_or_else(|| match self.health_of(slot) {
            Health::Closed => ReadError::Closed,
            _ => ReadError::Unavailable("the data is being opened".into()),
        })
    }

    /// Why a range without a database takes no writes.
    pub(super) fn refusal(&self, slot: &Slot) -> Refusal {
        self.health_of(slot)
            .refusal()
            .unwrap_or(Refusal::Recovering)
    }

    /// Notes that a database cannot be used any more, and wakes the supervisor.
    pub(super) fn fail(&self) {
        self.health.set(Health::Recovering);
        self.failed.notify_one();
    }
}
