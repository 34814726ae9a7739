//! Removes expired entities in the background.
//!
//! For requests an entity is gone the moment its time to live is over; this gives its room back. A table is walked when
//! something in it can have expired: a walk also learns when the oldest entity that it leaves will. A table that takes writes
//! all the time always has such an entity, so there is a pause between walks too, in which rows of a part of the time to live
//! gather: a walk reads everything to remove that part.
//!
//! What cannot be read stays: a row is passed over, a table that cannot be walked is tried again later, and the tables behind it
//! have their turn.

use super::table_walk::{TableWalk, remove_keys};
use super::{Table, name_key};
use crate::entity::Expiry;
use crate::{Error, Service};
use bytes::Bytes;
use partita_model::{AccountName, DateTime, Stored, TableId, TableName, TimeToLive};
use partita_rt::Shutdown;
use partita_service::{Busy, BusyReason};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often tables are looked at.
const POLL: Duration = Duration::from_secs(60);
/// Between two walks of a table passes this part of its time to live, in the bounds below.
const PAUSE_PART: u32 = 16;
const PAUSE_MIN: Duration = Duration::from_secs(60);
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// Runs until shutdown.
pub(crate) async fn expire(service: Arc<Service>, shutdown: Shutdown) {
    let mut expiring = Expiring::default();
    loop {
        tokio::select! {
            () = shutdown.requested() => return,
            () = tokio::time::sleep(POLL) => {}
            () = service.ttl_changed().notified() => {}
        }
        if let Err(error) = expiring.round(&service, &shutdown).await {
            tracing::warn!(%error, "removing expired entities failed, will go on");
        }
    }
}

/// When which table is walked next.
#[derive(Debug, Default)]
pub(super) struct Expiring(pub(super) HashMap<TableId, (TimeToLive, DateTime)>);

impl Expiring {
    /// Walks the tables that are due. How many entities were removed; of a table that could not be walked to its end the log says
    /// why.
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
            let now = service.timestamps().now();
            let waits = |(of, due): &(TimeToLive, DateTime)| *of == ttl && *due > now;
            if shutdown.is_requested() || self.0.get(&table.id).is_some_and(waits) {
                continue;
            }
            let mut walk = Walk::new(service, &account, &table, now);
            let walked = walk.run(shutdown).await;
            walk.report();
            removed += walk.removed;
            let soon = after(now, pause(ttl));
            let due = match walked {
                Ok(Some(oldest)) => after(oldest, Duration::from_secs(ttl.seconds())).max(soon),
                Ok(None) => continue,
                Err(error) => {
                    let table = &table.name;
                    tracing::warn!(%account, table, %error, "removing expired entities failed, will go on");
                    if !matches!(error, Error::Corrupt(_)) {
                        continue;
                    }
                    // Not at once: as much would be read again, to fail in the same place.
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
    /// Rows that could not be read.
    unreadable: usize,
}

impl<'a> Walk<'a> {
    fn new(
        service: &'a Service,
        account: &'a AccountName,
        table: &'a Table,
        now: DateTime,
    ) -> Self {
        Self {
            service,
            account,
            table,
            expiry: Expiry::new(table, now),
            now,
            removed: 0,
            unreadable: 0,
        }
    }

    /// Tells the log what was done.
    fn report(&self) {
        let (account, table) = (self.account, &self.table.name);
        if self.removed > 0 {
            let entities = self.removed;
            tracing::info!(%account, table, entities, "expired entities are removed");
        }
        if self.unreadable > 0 {
            let entities = self.unreadable;
            tracing::warn!(%account, table, entities, "entities that cannot be read do not expire");
        }
    }

    /// Removes what has expired. The Timestamp of the oldest entity that is left, or may have come since; `None` when it did
    /// not come to the end.
    async fn run(&mut self, shutdown: &Shutdown) -> Result<Option<DateTime>, Error> {
        let Ok(name) = TableName::new(&self.table.name) else {
            return Ok(None);
        };
        let mut oldest = self.now;
        let mut walk = TableWalk::new(self.service, &self.table.space);
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

    /// Removes those of the keys whose rows have expired, unless the table's time to live is another by now.
    async fn remove(&mut self, name: &TableName, keys: &[Bytes]) -> Result<bool, Error> {
        let name_key = name_key(self.account, name);
        loop {
            // Under the lock of the table's name, so that nobody makes its time to live longer between look and removal.
            let locked = self.service.lock(std::slice::from_ref(&name_key)).await?;
            if !self.holds(name).await? {
                return Ok(false);
            }
            let expiry = self.expiry;
            match remove_keys(self.service, keys, |row| expiry.has(row)).await {
                Ok(removed) => {
                    self.removed += removed;
                    return Ok(true);
                }
                Err(Error::Busy(Busy {
                    reason: BusyReason::RangeInTransit,
                    ..
                })) => {
                    // The range may be waiting for this very lock. Without it, this waits until the range is served again.
                    drop(locked);
                    drop(self.service.lock(keys.get(..1).unwrap_or_default()).await?);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the table is the same, and its time to live: who makes it longer wants to keep what is there.
    async fn holds(&self, name: &TableName) -> Result<bool, Error> {
        match self.service.table(self.account, name).await {
            Ok(now) => Ok(now.id == self.table.id && now.ttl == self.table.ttl),
            Err(Error::TableNotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
