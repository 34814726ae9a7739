//! The service: what all operations on tables share.

use crate::catalog::{CatalogMemo, expire, sweep};
use crate::{Error, Table, TargetSettings};
use bytes::Bytes;
use parking_lot::Mutex;
use partita_cluster::{PartitionMap, Route};
use partita_model::TableId;
use partita_range::Locked;
use partita_rt::{Clock, Tasks};
use partita_service::{
    Admission, AdmissionQueue, Charged, Cost, Direction, Storage, Targets, Timestamps,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Settings of the Table service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceSettings {
    /// How long a query runs before it ends its page.
    pub page_time_max: Duration,
    /// How many bytes of stored rows end a page.
    pub page_bytes_max: usize,
    /// How long after a table's deletion a write that started before it can still commit: its rows are swept once more
    /// after that. Longer than any request takes.
    pub drop_grace: Duration,
    /// Entity group transactions under way at once; further ones wait for admission.
    pub transactions_max: usize,
}

impl Default for ServiceSettings {
    /// 5 s, as in the service; 4 MiB, so that 1,000 large entities do not make a gigabyte; 90 s; 64.
    fn default() -> Self {
        Self {
            page_time_max: Duration::from_secs(5),
            page_bytes_max: 4 << 20,
            drop_grace: Duration::from_secs(90),
            transactions_max: 64,
        }
    }
}

/// The Table service of all accounts.
#[derive(Debug)]
pub struct Service {
    storage: Arc<Storage>,
    settings: ServiceSettings,
    targets: TargetSettings,
    /// Before the queue of writes, so that transactions do not fill it: their number is limited.
    transactions: AdmissionQueue,
    /// Before the commit, for transactions with more bytes than the queue of writes admits at a time: one.
    long_transactions: AdmissionQueue,
    memo: CatalogMemo,
    table_deleted: Arc<Notify>,
    restoring: Mutex<HashSet<TableId>>,
    ttl_changed: Notify,
}

impl Service {
    /// The Table service over storage. Its `targets` take effect where the storage keeps targets.
    #[must_use]
    pub fn new(storage: Arc<Storage>, settings: ServiceSettings, targets: TargetSettings) -> Self {
        Self {
            storage,
            settings,
            targets,
            transactions: AdmissionQueue::new(settings.transactions_max as u64),
            long_transactions: AdmissionQueue::new(1),
            memo: CatalogMemo::default(),
            table_deleted: Arc::default(),
            restoring: Mutex::default(),
            ttl_changed: Notify::new(),
        }
    }

    /// Starts the background work: removing the rows of deleted tables, and expired entities.
    pub fn start(self: &Arc<Self>, tasks: &Tasks) {
        tasks.spawn(
            "sweep dropped tables",
            sweep(Arc::clone(self), tasks.shutdown()),
        );
        tasks.spawn(
            "remove expired entities",
            expire(Arc::clone(self), tasks.shutdown()),
        );
    }

    /// The storage below.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The ranges.
    #[must_use]
    pub fn map(&self) -> &PartitionMap {
        self.storage.map()
    }

    pub(crate) fn route(&self, key: &Bytes) -> Route {
        self.storage.route(key)
    }

    /// A row, as of the last durable write.
    pub(crate) async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        Ok(self.storage.get(key).await?)
    }

    /// Locks the keys of a write, which lie in one range.
    pub(crate) async fn lock(&self, keys: &[Bytes]) -> Result<Locked, Error> {
        Ok(self.storage.lock(keys).await?)
    }

    /// The same, without waiting for a range in transit.
    pub(crate) async fn lock_at_once(&self, keys: &[Bytes]) -> Result<Locked, Error> {
        Ok(self.storage.lock_at_once(keys).await?)
    }

    pub(crate) fn admission(&self) -> &Admission {
        self.storage.admission()
    }

    pub(crate) const fn transactions(&self) -> &AdmissionQueue {
        &self.transactions
    }

    pub(crate) const fn long_transactions(&self) -> &AdmissionQueue {
        &self.long_transactions
    }

    pub(crate) fn targets(&self) -> Option<&Targets> {
        self.storage.targets()
    }

    /// What a request on a key of a table, or on the whole table by its prefix, is charged to.
    pub(crate) fn charged<'a>(&self, table: &'a Table, key: &'a [u8]) -> Charged<'a> {
        Charged {
            key,
            container: table.space.prefix(),
            rates: self.targets.of(&table.name),
        }
    }

    /// Charges a request on the row at `key` to its targets, if there are any.
    pub(crate) fn charge(
        &self,
        table: &Table,
        key: &Bytes,
        cost: Cost,
        direction: Direction,
    ) -> Result<(), Error> {
        self.storage.charge(
            key,
            cost,
            direction,
            || self.charged(table, key),
            || table.scope_names(key),
        )?;
        Ok(())
    }

    pub(crate) fn note_throttled(&self, key: &Bytes, rows: u64) {
        self.storage.note_throttled(key, rows);
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.storage.clock()
    }

    pub(crate) fn timestamps(&self) -> &Timestamps {
        self.storage.timestamps()
    }

    pub(crate) fn settings(&self) -> &ServiceSettings {
        &self.settings
    }

    pub(crate) fn memo(&self) -> &CatalogMemo {
        &self.memo
    }

    /// Tables that are being restored from a snapshot: they are recorded as deleted until they are complete.
    pub(crate) fn restoring(&self) -> &Mutex<HashSet<TableId>> {
        &self.restoring
    }

    /// Notified when a table was deleted.
    pub(crate) fn table_deleted(&self) -> &Notify {
        &self.table_deleted
    }

    /// Notified when the time to live of a table was set.
    pub(crate) fn ttl_changed(&self) -> &Notify {
        &self.ttl_changed
    }
}
