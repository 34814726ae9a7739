//! Looks after the databases: gives up log that is no longer needed, notices failures, and opens the data anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use partita_rt::Shutdown;
use partita_wal::Resume;

use super::core::{Core, Slot};
use super::open;
use super::wal_adapter::WalAdapter;
use super::{Opened, Runtimes, close_database};
use crate::{Health, OpenError, RangeId};

/// How often it looks when nothing happens.
const TICK: Duration = Duration::from_millis(500);

/// How often it looks while writes wait for a flush: nobody tells it when a database has done one of itself.
const TICK_BACKLOGGED: Duration = Duration::from_millis(20);

const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Looks after the databases until the end is asked for.
pub(super) async fn run(core: Arc<Core>, runtimes: Runtimes, shutdown: Shutdown) {
    let mut flushes = Flushes::default();
    loop {
        let wal = core.wal();
        let backlogged = wal.as_ref().is_some_and(WalAdapter::is_backlogged);
        let tick = if backlogged { TICK_BACKLOGGED } else { TICK };
        tokio::select! {
            () = shutdown.requested() => return,
            () = core.failed.notified() => {}
            () = maintenance_wanted(wal.as_ref()) => {}
            () = flushes.ended() => {}
            () = tokio::time::sleep(tick) => {}
        }
        let opened: Vec<Arc<Opened>> = core
            .slots()
            .iter()
            .filter_map(|slot| slot.opened())
            .collect();
        let closed_itself = opened
            .iter()
            .any(|opened| opened.db.status().close_reason.is_some());
        if core.health.get() == Health::Recovering || (closed_itself && is_unasked(&core).await) {
            drop(opened);
            tokio::select! {
                () = shutdown.requested() => return,
                () = recover(&core, &runtimes) => {}
            }
        } else if let Some(wal) = wal {
            maintain(&core, &wal, &opened).await;
            let stragglers = wal.stragglers();
            let stragglers = opened
                .into_iter()
                .filter(|opened| stragglers.contains(&opened.range));
            flushes.begin(stragglers);
        }
    }
}

/// Flushes that the supervisor asked for: one for a range at a time. On a full disk they take until there is room.
#[derive(Default)]
struct Flushes {
    ranges: BTreeSet<RangeId>,
    running: FuturesUnordered<BoxFuture<'static, RangeId>>,
}

impl Flushes {
    fn begin(&mut self, databases: impl Iterator<Item = Arc<Opened>>) {
        for opened in databases {
            if self.ranges.insert(opened.range) {
                self.running.push(Box::pin(async move {
                    if let Err(error) = opened.flush().await {
                        tracing::warn!(%error, range = %opened.range, "a flush failed");
                    }
                    opened.range
                }));
            }
        }
    }

    /// Waits for one to end; for ever if there is none. Cancel safe.
    async fn ended(&mut self) {
        match self.running.next().await {
            Some(range) => {
                self.ranges.remove(&range);
            }
            None => std::future::pending().await,
        }
    }
}

/// Whether a database is closed that nobody is closing.
async fn is_unasked(core: &Core) -> bool {
    let _changing = core.change_all().await;
    core.slots()
        .iter()
        .filter_map(|slot| slot.opened())
        .any(|opened| opened.db.status().close_reason.is_some())
}

async fn maintenance_wanted(wal: Option<&WalAdapter>) {
    match wal {
        Some(wal) => wal.maintenance_wanted().await,
        None => std::future::pending().await,
    }
}

/// Gives up what is flushed, makes spares, and notes whether writing can go on.
async fn maintain(core: &Core, wal: &WalAdapter, opened: &[Arc<Opened>]) {
    let health = core.health.get();
    match open::maintain(wal, opened).await {
        Ok(()) if wal.is_backlogged() => {}
        Ok(()) => {
            // Only from these two: a failure that was noted meanwhile must not be forgotten.
            if core.health.replace(health, Health::Healthy) && health != Health::Healthy {
                tracing::info!(was = health.as_str(), "writes are taken again");
            }
        }
        Err(error) => tracing::debug!(%error, "failed to maintain the WAL"),
    }
}

async fn recover(core: &Core, runtimes: &Runtimes) {
    let _changing = core.change_all().await;
    core.health.set(Health::Recovering);
    let failed = core.wal.write().take();
    if let Some(failed) = failed {
        failed.poison();
    }
    let slots = core.slots();
    for opened in slots.iter().filter_map(|slot| slot.take()) {
        close_database(&opened).await;
    }
    let mut pause = RETRY_FIRST;
    loop {
        match open_anew(core, runtimes, &slots).await {
            Ok(()) => {
                core.health.set(Health::Healthy);
                tracing::info!("the data was opened anew");
                return;
            }
            Err(error) => {
                {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(error, "the data did not open; trying again");
                }
                tokio::time::sleep(pause).await;
                pause = RETRY_MAX.min(pause * 2);
            }
        }
    }
}

/// Opens all ranges with a fresh log; the old one is given up before anybody reads.
async fn open_anew(core: &Core, runtimes: &Runtimes, slots: &[Arc<Slot>]) -> Result<(), OpenError> {
    let wal = WalAdapter::open(&core.home, Resume::AfterFailure).await?;
    let mut anew = Vec::with_capacity(slots.len());
    for slot in slots {
        let opening = open::open(core, runtimes, &wal, slot.range, Resume::AfterFailure);
        anew.push(Arc::new(opening.await?));
    }
    wal.retain(slots.iter().map(|slot| slot.range));
    open::maintain(&wal, &anew).await?;
    for (slot, opened) in slots.iter().zip(anew) {
        slot.put(opened);
    }
    *core.wal.write() = Some(wal);
    Ok(())
}
