//! The storage below all services of a process: routing, locks, Timestamps, admission, targets.

use crate::admission::Admission;
use crate::leases::{Grants, LeasedRows};
use crate::targets::{Charged, Cost, Direction, Limited, Rates, ScopeNames, Targets};
use crate::timestamps::Timestamps;
use crate::{Busy, Error, FarRows, MemoryBudget};
use bytes::Bytes;
use partita_cluster::{NotServed, PartitionMap, Route};
use partita_heat::Access;
use partita_range::{Locked, RequestStats};
use partita_rt::Clock;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::watch;

/// The ranges of all keys, with the Timestamps, admission queues and targets that all requests share.
#[derive(Debug)]
pub struct Storage {
    /// The ranges.
    pub map: Arc<PartitionMap>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The Timestamps of writes.
    pub timestamps: Timestamps,
    /// The admission queues that all services share.
    pub admission: Admission,
    /// The targets; `None` for no limits.
    pub targets: Option<Arc<Targets>>,
    /// The memory for bodies and answers.
    pub memory: Arc<MemoryBudget>,
    /// The rows of other servers; `None` in a process that is alone.
    far: Option<Far>,
    /// The leases of catalog rows that this process granted.
    pub(crate) grants: Grants,
    /// Changed when this process takes over the catalog.
    pub(crate) arrivals: watch::Sender<u64>,
}

/// The rows of other servers.
#[derive(Debug)]
struct Far {
    rows: Arc<dyn FarRows>,
    leased: LeasedRows,
}

impl Storage {
    /// The storage of these ranges, without targets and without a memory limit.
    pub fn new(map: Arc<PartitionMap>, clock: Arc<dyn Clock>) -> Self {
        Self {
            map,
            timestamps: Timestamps::new(Arc::clone(&clock)),
            clock,
            admission: Admission::default(),
            targets: None,
            memory: MemoryBudget::unlimited(),
            far: None,
            grants: Grants::default(),
            arrivals: watch::Sender::new(0),
        }
    }

    /// Reads and removes rows of other servers through `rows`. Without it, a key of no range of this process is an
    /// error.
    #[must_use]
    pub fn with_far_rows(mut self, rows: Arc<dyn FarRows>) -> Self {
        let leased = LeasedRows::new(Arc::clone(&rows), Arc::clone(&self.clock));
        self.far = Some(Far { rows, leased });
        self
    }

    /// Continues the Timestamps after `time`, the time at which the newest row of the ranges was written.
    #[must_use]
    pub fn with_timestamps_after(mut self, time: SystemTime) -> Self {
        self.timestamps = Timestamps::after(Arc::clone(&self.clock), time);
        self
    }

    /// Bounds the memory for bodies and answers.
    #[must_use]
    pub fn with_memory(mut self, memory: Arc<MemoryBudget>) -> Self {
        self.memory = memory;
        self
    }

    /// Enforces scalability targets: `account` for each account; the targets of containers come with each request.
    #[must_use]
    pub fn with_targets(self, account: Rates) -> Self {
        let targets = Targets::new(account, self.clock.monotonic());
        self.with_shared_targets(Arc::new(targets))
    }

    /// Enforces these targets, as [`Self::with_targets`].
    #[must_use]
    pub fn with_shared_targets(mut self, targets: Arc<Targets>) -> Self {
        self.targets = Some(targets);
        self
    }

    /// The partitions, containers and accounts whose requests were refused in the last minute because a target was
    /// exceeded: at most `limit`, the most frequent first.
    pub fn limited(&self, limit: usize) -> Vec<Limited> {
        self.targets.as_ref().map_or_else(Vec::new, |targets| {
            targets.limited(self.clock.monotonic(), limit)
        })
    }

    /// The tables and accounts of [`Self::limited`], each with the share of its target that this server of a cluster may
    /// use, from 0 to 1. Empty for a server that is alone.
    pub fn limited_shares(&self) -> Vec<(Limited, f64)> {
        self.targets.as_ref().map_or_else(Vec::new, |targets| {
            targets.limited_shares(self.clock.monotonic())
        })
    }

    /// The range of a key, for one read.
    ///
    /// # Errors
    /// [`Error::Busy`]: no range of this process has the key.
    pub fn route(&self, key: &Bytes) -> Result<Route, Error> {
        Ok(self.map.route(key)?)
    }

    /// Whether a range of this process has the key.
    pub fn is_here(&self, key: &Bytes) -> bool {
        self.map.route(key).is_ok()
    }

    /// The rows of other servers, for a key that no range of this process has.
    pub(crate) fn far_rows(&self, not_here: NotServed) -> Result<&Arc<dyn FarRows>, Error> {
        let far = self.far.as_ref().ok_or(not_here)?;
        Ok(&far.rows)
    }

    /// Whether this process can reach the rows of other servers.
    pub const fn has_far_rows(&self) -> bool {
        self.far.is_some()
    }

    /// A row, as of the last durable write, also of another server.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        match self.map.route(key) {
            Ok(route) => Ok(route.range.get(key).await?),
            Err(not_here) => self.far_rows(not_here)?.get(key).await,
        }
    }

    /// A row of the catalog. Like [`Self::get`], but a row of another server is read under a lease, so that few
    /// requests ask that server.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn catalog_row(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        match self.map.route(key) {
            Ok(route) => Ok(route.range.get(key).await?),
            Err(not_here) => {
                let far = self.far.as_ref().ok_or(not_here)?;
                if let Some(row) = far.leased.find(key) {
                    return Ok(Some(row));
                }
                // Boxed, so that it does not enlarge the futures of all requests.
                Box::pin(far.leased.get(key)).await
            }
        }
    }

    /// Locks the keys of a write. All keys must belong to one range.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub async fn lock(&self, keys: &[Bytes]) -> Result<Locked, Error> {
        Ok(self.map.lock(keys).await?)
    }

    /// Like [`Self::lock`], but refuses instead of waiting for a range in transit.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub async fn lock_at_once(&self, keys: &[Bytes]) -> Result<Locked, Error> {
        Ok(self.map.lock_at_once(keys).await?)
    }

    /// Charges a request on the row at `key` to the targets, if the server has targets. A refused request counts in the
    /// heat of the range, so that the heat shows the demand.
    ///
    /// # Errors
    /// [`Busy`]: nothing was charged.
    pub fn charge<'c>(
        &self,
        key: &'c Bytes,
        cost: Cost,
        direction: Direction,
        charged: impl FnOnce() -> Charged<'c>,
        names: impl FnOnce() -> ScopeNames,
    ) -> Result<(), Busy> {
        let Some(targets) = &self.targets else {
            return Ok(());
        };
        let taken = targets.take(self.clock.monotonic(), &charged(), cost, direction, names);
        taken.inspect_err(|_| self.note_throttled(key, cost.entities))
    }

    /// Counts a refused request in the heat of its range.
    pub fn note_throttled(&self, key: &Bytes, rows: u64) {
        let done = RequestStats {
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            ..RequestStats::default()
        };
        if let Ok(route) = self.map.route(key) {
            route.range.note(key, Access::Throttled, done);
        }
    }
}
