//! Removes expired entities in the background.
//!
//! Requests omit an entity as soon as it expires; this module frees its space. A walk reads a whole table and removes
//! the expired entities. The next walk of that table is due when its oldest remaining entity expires. A table with
//! constant writes always has an entity that is about to expire, so there is also a minimum pause between walks: a
//! fraction of the time to live.
//!
//! It runs where the catalog is served, because a walk holds the lock of the table's name while it removes rows: so the
//! time to live cannot change between check and removal. The rows may be on other servers.
//!
//! A walk skips unreadable rows. A failed walk of a table is repeated later, and does not delay other tables.

use super::{Table, name_key};
use crate::entity::Expiry;
use crate::{Error, Service};
use bytes::Bytes;
use partita_cluster::TRANSIT_WAIT;
use partita_model::{AccountName, DateTime, Stored, TableId, TableName, TimeToLive};
use partita_rt::Shutdown;
use partita_service::{Busy, BusyReason, CatalogHome, RowWalk, remove_keys};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The time between two checks of which tables are due for a walk.
const POLL: Duration = Duration::from_secs(60);
/// The minimum pause between two walks of a table is its time to live divided by this number, but within `PAUSE_MIN`
/// and `PAUSE_MAX`.
const PAUSE_PART: u32 = 16;
/// The lower bound of that pause, for tables with a short time to live.
const PAUSE_MIN: Duration = Duration::from_secs(60);
/// The upper bound of that pause, for tables with a long time to live.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// How often a walk waits [`TRANSIT_WAIT`] for a range of another server before it fails.
const TRANSITS_MAX: usize = 100;

/// Runs until shutdown.
pub(crate) async fn expire(service: Arc<Service>, shutdown: Shutdown) {
    let mut expiring = Expiring::default();
    let mut home = CatalogHome::new(service.storage());
    loop {
        tokio::select! {
            () = shutdown.requested() => return,
            () = home.moved() => {}
            () = tokio::time::sleep(POLL) => {}
            () = service.ttl_changed.notified() => {}
        }
        tokio::select! {
            () = shutdown.requested() => return,
            () = home.served() => {}
        }
        if let Err(error) = expiring.round(&service, &shutdown).await {
            tracing::warn!(%error, "failed to remove expired entities; will retry");
        }
    }
}

/// For each table with a time to live: that time to live, and the time of its next walk.
#[derive(Debug, Default)]
pub(super) struct Expiring(pub(super) HashMap<TableId, (TimeToLive, DateTime)>);

impl Expiring {
    /// Walks the tables that are due and returns how many entities it removed. Logs failed walks.
    pub(super) async fn round(
        &mut self,
        service: &Service,
        shutdown: &Shutdown,
    ) -> Result<usize, Error> {
        let mut mortal = Vec::new();
        service
            .each_table(|account, table| {
                mortal.extend(table.ttl.map(|ttl| (account.clone(), table, ttl)));
                true
            })
            .await?;
        self.0
            .retain(|id, _| mortal.iter().any(|(_, table, _)| table.id == *id));
        let mut removed = 0;
        for (account, table, ttl) in mortal {
            let now = service.wall_time();
            let waits = |(of, due): &(TimeToLive, DateTime)| *of == ttl && *due > now;
            if shutdown.is_requested() || self.0.get(&table.id).is_some_and(waits) {
                continue;
            }
            let mut walk = Walk {
                service,
                account: &account,
                table: &table,
                expiry: Expiry::new(&table, now),
                now,
                removed: 0,
                transits: 0,
                unreadable: 0,
            };
            let walked = walk.run(shutdown).await;
            walk.report();
            removed += walk.removed;
            let soon = after(now, pause(ttl));
            let due = match walked {
                Ok(Some(oldest)) => after(oldest, Duration::from_secs(ttl.seconds())).max(soon),
                Ok(None) => continue,
                Err(error) => {
                    let table = &table.name;
                    tracing::warn!(%account, table, %error, "failed to remove expired entities; will retry");
                    if !matches!(error, Error::Corrupt(_)) {
                        continue;
                    }
                    // After a pause, because an immediate retry would fail at the same row.
                    soon
                }
            };
            self.0.insert(table.id, (ttl, due));
        }
        Ok(removed)
    }
}

fn pause(ttl: TimeToLive) -> Duration {
    let part = Duration::from_secs(ttl.seconds()) / PAUSE_PART;
    part.clamp(PAUSE_MIN, PAUSE_MAX)
}

fn after(time: DateTime, span: Duration) -> DateTime {
    DateTime::from_system(time.to_system() + span)
}

/// A walk over one table.
struct Walk<'a> {
    service: &'a Service,
    account: &'a AccountName,
    table: &'a Table,
    expiry: Expiry,
    now: DateTime,
    removed: usize,
    /// The number of waits for ranges of other servers.
    transits: usize,
    /// Rows that could not be read.
    unreadable: usize,
}

impl Walk<'_> {
    /// Logs the result.
    fn report(&self) {
        let (account, table) = (self.account, &self.table.name);
        if self.removed > 0 {
            let entities = self.removed;
            tracing::info!(%account, table, entities, "removed expired entities");
        }
        if self.unreadable > 0 {
            let entities = self.unreadable;
            tracing::warn!(%account, table, entities, "cannot read some entities; they stay even if they have expired");
        }
    }

    /// Removes expired entities. Returns a lower bound of the Timestamps of the remaining entities; `None` if it
    /// stopped early.
    async fn run(&mut self, shutdown: &Shutdown) -> Result<Option<DateTime>, Error> {
        let Ok(name) = TableName::new(&self.table.name) else {
            return Ok(None);
        };
        let mut oldest = self.now;
        let space = &self.table.space;
        let mut walk = RowWalk::new(self.service.storage(), space.prefix().clone(), space.end());
        while let Some(rows) = walk.next().await? {
            let mut keys = Vec::new();
            for (key, value) in rows {
                let Ok(stored) = Stored::open(&value) else {
                    self.unreadable += 1;
                    continue;
                };
                if self.expiry.has(&value)? {
                    keys.push(key);
                } else {
                    oldest = oldest.min(stored.timestamp());
                }
            }
            if shutdown.is_requested() {
                return Ok(None);
            }
            if !self.remove(&name, &keys).await? {
                return Ok(None);
            }
        }
        Ok(Some(oldest))
    }

    /// Removes the expired rows among `keys`. Returns `false` if the table's time to live changed, or the table no
    /// longer exists.
    async fn remove(&mut self, name: &TableName, keys: &[Bytes]) -> Result<bool, Error> {
        let name_key = name_key(self.account, name);
        loop {
            // Holds the lock of the table's name, so that the time to live cannot change between check and removal.
            let locked = self.service.lock(std::slice::from_ref(&name_key)).await?;
            if !self.holds(name).await? {
                return Ok(false);
            }
            let expiry = self.expiry;
            match remove_keys(self.service.storage(), keys, |row| expiry.has(row)).await {
                Ok(removed) => {
                    self.removed += removed;
                    return Ok(true);
                }
                Err(Error::Busy(Busy {
                    reason: BusyReason::RangeInTransit,
                    ..
                })) => {
                    // The range is being split, merged or moved, which may wait for this lock. So release the lock, and
                    // wait until the keys are served again.
                    drop(locked);
                    self.transit_ended(keys).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the first of the keys is served.
    async fn transit_ended(&mut self, keys: &[Bytes]) -> Result<(), Error> {
        let keys = keys.get(..1).unwrap_or_default();
        if keys.iter().all(|key| self.service.storage().is_here(key)) {
            drop(self.service.lock(keys).await?);
            return Ok(());
        }
        self.transits += 1;
        if self.transits > TRANSITS_MAX {
            return Err(Busy::in_transit("rows of another server are in transit").into());
        }
        tokio::time::sleep(TRANSIT_WAIT).await;
        Ok(())
    }

    /// Whether the table still exists with the same time to live.
    async fn holds(&self, name: &TableName) -> Result<bool, Error> {
        match self.service.table(self.account, name).await {
            Ok(now) => Ok(now.id == self.table.id && now.ttl == self.table.ttl),
            Err(Error::TableNotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
