//! Supervises the databases: keeps the WAL short, detects failures, and reopens all databases after a failure.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use partita_rt::Shutdown;
use partita_wal::{Resume, WalId};
use tokio::time::Instant;

use super::Runtimes;
use super::core::Core;
use super::damage_watch;
use super::database::{Database, Replayed, Stored};
use super::open_range::OpenRange;
use super::retirement;
use super::wal_adapter::WalAdapter;
use crate::{Health, OpenError, RangeId};

/// The interval between checks of the databases.
const TICK: Duration = Duration::from_millis(500);

/// The interval between checks while writes wait for a flush: a database does not report the flushes that it starts
/// itself.
const TICK_BACKLOGGED: Duration = Duration::from_millis(20);

/// The interval between checks whether listed damaged files were replaced or are no longer read.
const RECHECK: Duration = Duration::from_secs(2);

/// The pause before the first retry of a failed recovery.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest pause before a retry of a failed recovery.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Supervises the databases until shutdown.
pub(super) async fn run(core: Arc<Core>, runtimes: Runtimes, shutdown: Shutdown) {
    let mut flushes = Flushes::default();
    let mut rechecked = Instant::now();
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
        let databases = core.databases();
        let one_closed = databases.iter().any(|database| database.is_closed());
        if core.health.get() == Health::Recovering || (one_closed && one_failed(&core).await) {
            let fenced = fenced_range(&databases);
            drop(databases);
            let recovering = async {
                match core.context.home.shared() {
                    Some(_) => retirement::retire(&core, fenced).await,
                    None => recover(&core, &runtimes).await,
                }
            };
            tokio::select! {
                () = shutdown.requested() => return,
                () = recovering => {}
            }
        } else if let Some(wal) = wal {
            maintain(&core, &wal, &databases).await;
            damage_watch::block_writes(&core);
            if rechecked.elapsed() >= RECHECK {
                // A damaged disk may be slow. Files that are not checked in this time are checked next time.
                let _ = tokio::time::timeout(RECHECK, damage_watch::recheck(&core)).await;
                rechecked = Instant::now();
            }
            let stragglers = wal.wal.stragglers();
            let databases = databases.into_iter();
            flushes.begin(databases.filter(|database| stragglers.contains(&database.range)));
        }
    }
}

/// Flushes that the supervisor started, at most one for each range. On a full disk they wait until there is space.
#[derive(Default)]
struct Flushes {
    ranges: BTreeSet<RangeId>,
    running: FuturesUnordered<BoxFuture<'static, RangeId>>,
}

impl Flushes {
    fn begin(&mut self, databases: impl Iterator<Item = Arc<Database>>) {
        for database in databases {
            let range = database.range;
            if self.ranges.insert(range) {
                self.running.push(Box::pin(async move {
                    if let Err(error) = database.flush().await {
                        tracing::warn!(%error, %range, "failed to flush a range");
                    }
                    range
                }));
            }
        }
    }

    /// Waits until a flush ends; forever if no flush is running. Cancel safe.
    async fn ended(&mut self) {
        match self.running.next().await {
            Some(range) => {
                self.ranges.remove(&range);
            }
            None => std::future::pending().await,
        }
    }
}

/// Whether a database closed itself after a failure. The change lock rules out a close by a caller.
async fn one_failed(core: &Core) -> bool {
    let _changes = core.lock_all_changes().await;
    core.databases().iter().any(|database| database.is_closed())
}

/// A range whose database another process has opened.
fn fenced_range(databases: &[Arc<Database>]) -> Option<RangeId> {
    let mut databases = databases.iter();
    let fenced = databases.find(|database| database.is_fenced());
    fenced.map(|database| database.range)
}

async fn maintenance_wanted(wal: Option<&WalAdapter>) {
    match wal {
        Some(wal) => wal.maintenance_wanted().await,
        None => std::future::pending().await,
    }
}

/// Maintains the WAL, and accepts writes again once there is space.
async fn maintain(core: &Core, wal: &WalAdapter, databases: &[Arc<Database>]) {
    if let Some(shared) = core.context.home.shared() {
        shared.forget_unused();
    }
    let health = core.health.get();
    match wal.maintain(&stored(core, databases).await).await {
        Ok(()) if wal.is_backlogged() => {}
        Ok(()) => {
            // Replaces the health only if it is still the one read above, so that a failure since then is not hidden.
            if core.health.replace(health, Health::Healthy) && health != Health::Healthy {
                tracing::info!(was = health.as_str(), "writes are accepted again");
            }
        }
        Err(error) => tracing::debug!(%error, "failed to prepare space for the WAL"),
    }
}

/// The last WAL record of each database whose rows are in the store.
async fn stored(core: &Core, databases: &[Arc<Database>]) -> Vec<(RangeId, WalId)> {
    let stored = databases.iter().map(async |database| {
        let up_to = database.stored_up_to(&core.context).await;
        (database.range, up_to)
    });
    futures::future::join_all(stored).await
}

/// Closes and reopens all databases. Retries until it succeeds, or another server has taken over the store.
async fn recover(core: &Core, runtimes: &Runtimes) {
    let _changes = core.lock_all_changes().await;
    core.health.set(Health::Recovering);
    let failed = core.wal.write().take();
    if let Some(failed) = failed {
        failed.wal.poison();
    }
    let open_ranges = core.open_ranges();
    for database in open_ranges.iter().filter_map(|open| open.take_database()) {
        database.close().await;
        core.context.damage.clear(database.range);
    }
    let mut pause = RETRY_FIRST;
    loop {
        match reopen(core, runtimes, &open_ranges).await {
            Ok(()) => {
                core.health.set(Health::Healthy);
                tracing::info!("recovered: all databases are reopened");
                return;
            }
            Err(OpenError::Fenced(by)) => {
                tracing::error!(%by, "stopped serving: another server has taken over the store");
                return core.fence(by);
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(error, "failed to reopen the databases; will retry");
            }
        }
        tokio::time::sleep(pause).await;
        pause = RETRY_MAX.min(pause * 2);
    }
}

/// Reopens all ranges with a WAL that continues in a new segment. Flushes the rows of the old records and releases
/// these records before any read.
async fn reopen(
    core: &Core,
    runtimes: &Runtimes,
    open_ranges: &[Arc<OpenRange>],
) -> Result<(), OpenError> {
    let wal = WalAdapter::open(&core.context.home, Resume::AfterFailure).await?;
    let mut databases = Vec::with_capacity(open_ranges.len());
    for open in open_ranges {
        let stored = Stored::read(&core.context, open.range).await?;
        let opening = Database::open(
            &core.context,
            runtimes,
            &wal,
            open.range,
            stored,
            Replayed::AfterFailure,
        );
        databases.push(Arc::new(opening.await?));
    }
    wal.retain(open_ranges.iter().map(|open| open.range));
    wal.maintain(&stored(core, &databases).await).await?;
    for (open, database) in open_ranges.iter().zip(databases) {
        open.set_database(database);
    }
    *core.wal.write() = Some(wal);
    Ok(())
}
