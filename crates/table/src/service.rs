//! The service: the state shared by all operations on tables.

use crate::{Error, Table, TargetSettings};
use bytes::Bytes;
use partita_cluster::{PartitionMap, Route};
use partita_model::{DateTime, KeyKind};
use partita_range::Locked;
use partita_rt::Clock;
use partita_service::{
    AdmissionQueue, Charged, Cost, Direction, Dropped, RecordMemo, Storage, Timestamps,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Settings of the Table service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceSettings {
    /// The time limit of one page of a query.
    pub page_time_max: Duration,
    /// The limit of the bytes of stored rows on a page.
    pub page_bytes_max: usize,
    /// How long after a table's deletion an earlier write can still commit. After that time the sweep checks the rows
    /// once more. Longer than any request.
    pub drop_grace: Duration,
    /// The maximum number of concurrent entity group transactions; further ones wait for admission.
    pub transactions_max: usize,
}

impl Default for ServiceSettings {
    /// A page takes at most 5 s, as in the Azure service, and has at most 4 MiB, so that 1,000 large entities do not
    /// take a gigabyte of memory.
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
    pub(crate) settings: ServiceSettings,
    targets: TargetSettings,
    /// Limits the number of concurrent transactions, so that they do not fill the write queue.
    pub(crate) transactions: AdmissionQueue,
    /// Admits one long transaction at a time.
    pub(crate) long_transactions: AdmissionQueue,
    pub(crate) memo: RecordMemo<Table>,
    /// The dropped tables. A table that is being restored from a snapshot is one until it is complete.
    pub(crate) dropped: Dropped,
    /// Notified when the time to live of a table was set.
    pub(crate) ttl_changed: Notify,
}

impl Service {
    /// The Table service over `storage`. The `targets` have an effect only if the storage enforces targets.
    #[must_use]
    pub fn new(storage: Arc<Storage>, settings: ServiceSettings, targets: TargetSettings) -> Self {
        Self {
            storage,
            settings,
            targets,
            transactions: AdmissionQueue::new(settings.transactions_max as u64),
            long_transactions: AdmissionQueue::new(1),
            memo: RecordMemo::default(),
            dropped: Dropped::new(
                "table",
                KeyKind::DROPPED_TABLE,
                KeyKind::ENTITY,
                settings.drop_grace,
            ),
            ttl_changed: Notify::new(),
        }
    }

    /// The storage.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The ranges.
    #[must_use]
    pub fn map(&self) -> &PartitionMap {
        &self.storage.map
    }

    pub(crate) fn route(&self, key: &Bytes) -> Result<Route, Error> {
        Ok(self.storage.route(key)?)
    }

    /// A row, as of the last durable write.
    pub(crate) async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        Ok(self.storage.get(key).await?)
    }

    /// Locks the keys of a write, which must be in one range.
    pub(crate) async fn lock(&self, keys: &[Bytes]) -> Result<Locked, Error> {
        Ok(self.storage.lock(keys).await?)
    }

    /// The targets that a request on a key of a table is charged to. The key may be the prefix of the whole table.
    pub(crate) fn charged<'a>(&self, table: &'a Table, key: &'a [u8]) -> Charged<'a> {
        Charged {
            key,
            container: table.space.prefix(),
            rates: self.targets.of(&table.name),
        }
    }

    /// Charges a request on the row at `key` to its targets, if any.
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

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.storage.clock
    }

    /// The wall time, which decides whether an entity has expired. Timestamps of new entities can be ahead of it, as
    /// far as the newest row of the store is. If Timestamps decided about expiry, one row of the year 2100 would make
    /// all other rows expire.
    pub(crate) fn wall_time(&self) -> DateTime {
        DateTime::from_system(self.clock().now())
    }

    pub(crate) fn timestamps(&self) -> &Timestamps {
        &self.storage.timestamps
    }
}
