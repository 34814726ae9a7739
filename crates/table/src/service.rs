//! The service: what the operations share.

use crate::admission::Admission;
use crate::catalog::{CatalogMemo, expire, sweep};
use crate::stamps::Stamps;
use crate::targets::{Cost, Targets, Way};
use crate::{Error, Limited, Table, TargetSettings};
use bytes::Bytes;
use parking_lot::Mutex;
use partita_cluster::{PartitionMap, Route};
use partita_heat::Access;
use partita_model::TableId;
use partita_range::{Locked, RequestStats};
use partita_rt::{Clock, Tasks};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// What an operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceSettings {
    /// How long a query runs before it ends its page.
    pub page_time_max: Duration,
    /// How many bytes of stored rows end a page.
    pub page_bytes_max: usize,
    /// How long after a table was dropped a write that began before may still come: its rows are looked for once more
    /// after that. Longer than any request may take.
    pub drop_grace: Duration,
    /// Entity group transactions under way at once; further ones wait for their turn.
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

/// The table service of all accounts.
#[derive(Debug)]
pub struct Service {
    map: Arc<PartitionMap>,
    clock: Arc<dyn Clock>,
    stamps: Stamps,
    settings: ServiceSettings,
    admission: Admission,
    /// Nothing is limited without.
    targets: Option<Box<Targets>>,
    memo: CatalogMemo,
    dropped: Arc<Notify>,
    restoring: Mutex<HashSet<TableId>>,
    expiring: Notify,
}

impl Service {
    /// A service over ranges.
    #[must_use]
    pub fn new(map: Arc<PartitionMap>, clock: Arc<dyn Clock>, settings: ServiceSettings) -> Self {
        let stamps = Stamps::new(Arc::clone(&clock));
        let (memo, dropped) = (CatalogMemo::default(), Arc::new(Notify::new()));
        Self {
            map,
            clock,
            stamps,
            settings,
            admission: Admission::new(settings.transactions_max),
            targets: None,
            memo,
            dropped,
            restoring: Mutex::default(),
            expiring: Notify::new(),
        }
    }

    /// With scalability targets; past them [`Error::Busy`].
    #[must_use]
    pub fn with_targets(mut self, settings: TargetSettings) -> Self {
        self.targets = Targets::new(settings, self.clock.monotonic()).map(Box::new);
        self
    }

    /// Those whose requests were refused in the last minute because a target was passed, at most `limit`, most often first.
    #[must_use]
    pub fn limited(&self, limit: usize) -> Vec<Limited> {
        let targets = self.targets.as_ref();
        targets.map_or_else(Vec::new, |targets| {
            targets.limited(self.clock.monotonic(), limit)
        })
    }

    /// Starts the background work: removing the rows of dropped tables, and entities that expired.
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

    /// The ranges.
    #[must_use]
    pub fn map(&self) -> &PartitionMap {
        &self.map
    }

    pub(crate) fn route(&self, key: &Bytes) -> Route {
        self.map.route(key)
    }

    /// A row, as of the last durable write.
    pub(crate) async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        Ok(self.map.route(key).range.get(key).await?)
    }

    /// Locks the keys of a write, which lie in one range.
    pub(crate) async fn lock(&self, keys: &[Bytes]) -> Result<Locked, Error> {
        Ok(self.map.lock(keys).await?)
    }

    /// The same, without waiting for a range in transit.
    pub(crate) async fn lock_at_once(&self, keys: &[Bytes]) -> Result<Locked, Error> {
        Ok(self.map.lock_at_once(keys).await?)
    }

    pub(crate) const fn admission(&self) -> &Admission {
        &self.admission
    }

    pub(crate) fn targets(&self) -> Option<&Targets> {
        self.targets.as_deref()
    }

    /// Takes what a request on the row at `key` costs of its targets, if there are any. What is refused counts in the range's
    /// heat, so that it shows where the demand is.
    pub(crate) fn pay(
        &self,
        table: &Table,
        key: &Bytes,
        way: Way,
        cost: impl FnOnce() -> Cost,
    ) -> Result<(), Error> {
        let Some(targets) = self.targets() else {
            return Ok(());
        };
        let cost = cost();
        let paid = targets.take(self.clock.monotonic(), table, key, cost, way);
        paid.inspect_err(|_| self.note_throttled(key, cost.entities))
    }

    pub(crate) fn note_throttled(&self, key: &Bytes, rows: u64) {
        let done = RequestStats {
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            ..RequestStats::default()
        };
        self.route(key).range.note(key, Access::Throttled, done);
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    pub(crate) fn settings(&self) -> &ServiceSettings {
        &self.settings
    }

    pub(crate) fn memo(&self) -> &CatalogMemo {
        &self.memo
    }

    /// Tables that are being brought back from a snapshot: they are recorded as dropped until all of them is there.
    pub(crate) fn restoring(&self) -> &Mutex<HashSet<TableId>> {
        &self.restoring
    }

    /// Told when a table was dropped.
    pub(crate) fn dropped(&self) -> &Notify {
        &self.dropped
    }

    /// Told when the time to live of a table was set.
    pub(crate) fn expiring(&self) -> &Notify {
        &self.expiring
    }
}
