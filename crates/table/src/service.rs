//! The service: what the operations share.

use crate::Error;
use crate::catalog::{CatalogMemo, expire, sweep};
use crate::stamps::Stamps;
use bytes::Bytes;
use partita_cluster::{PartitionMap, Route};
use partita_range::Locked;
use partita_rt::{Clock, Tasks};
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
}

impl Default for ServiceSettings {
    /// 5 s, as in the service; 4 MiB, so that 1,000 large entities do not make a gigabyte; 90 s.
    fn default() -> Self {
        Self {
            page_time_max: Duration::from_secs(5),
            page_bytes_max: 4 << 20,
            drop_grace: Duration::from_secs(90),
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
    memo: CatalogMemo,
    dropped: Arc<Notify>,
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
            memo,
            dropped,
            expiring: Notify::new(),
        }
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

    /// Told when a table was dropped.
    pub(crate) fn dropped(&self) -> &Notify {
        &self.dropped
    }

    /// Told when the time to live of a table was set.
    pub(crate) fn expiring(&self) -> &Notify {
        &self.expiring
    }
}
