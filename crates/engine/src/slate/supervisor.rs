//! Looks after the databases: gives up log that is no longer needed, notices failures, and opens the data anew.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::Shutdown;

use super::core::{Core, Slot};
use super::journal::Journal;
use super::open::{self, Records};
use super::{Opened, Runtimes, close_database};
use crate::log::Resume;
use crate::{Health, OpenError};

/// How often it looks when nothing happens.
const TICK: Duration = Duration::from_millis(500);

const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Looks after the databases until the end is asked for.
pub(super) async fn run(core: Arc<Core>, runtimes: Runtimes, shutdown: Shutdown) {
    loop {
        let journal = core.journal();
        tokio::select! {
            () = shutdown.requested() => return,
            () = core.failed.notified() => {}
            () = rolled(journal.as_ref()) => {}
            () = tokio::time::sleep(TICK) => {}
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
        } else if let Some(journal) = journal {
            tidy(&core, &journal, &opened).await;
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

async fn rolled(journal: Option<&Journal>) {
    match journal {
        Some(journal) => journal.rolled().await,
        None => std::future::pending().await,
    }
}

/// Gives up what is flushed, makes spares, flushes what keeps the log long, and notes whether writing can go on.
async fn tidy(core: &Core, journal: &Journal, opened: &[Arc<Opened>]) {
    let health = core.health.get();
    match open::tidy(journal, opened).await {
        Ok(()) if journal.is_backlogged() => {}
        Ok(()) => {
            // Only from these two: a failure that was noted meanwhile must not be forgotten.
            if core.health.replace(health, Health::Healthy) && health != Health::Healthy {
                tracing::info!(was = health.as_str(), "writes are taken again");
            }
        }
        Err(error) => tracing::debug!(%error, "no spare segments of the log"),
    }
    let stragglers = journal.stragglers();
    for opened in opened {
        if stragglers.contains(&opened.range)
            && let Err(error) = opened.flush().await
        {
            tracing::warn!(%error, range = %opened.range, "a flush failed");
        }
    }
}

async fn recover(core: &Core, runtimes: &Runtimes) {
    let _changing = core.change_all().await;
    core.health.set(Health::Recovering);
    let failed = core.journal.write().take();
    if let Some(failed) = failed {
        failed.retire();
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
    let (journal, mut records): (Journal, Records) = open::open_log(core, Resume::Afresh).await?;
    let mut anew = Vec::with_capacity(slots.len());
    for slot in slots {
        let records = records.remove(&slot.range).unwrap_or_default();
        let opening = open::open(
            core,
            runtimes,
            &journal,
            slot.range,
            records,
            Resume::Afresh,
        );
        anew.push(Arc::new(opening.await?));
    }
    journal.forget_others(slots.iter().map(|slot| slot.range));
    open::tidy(&journal, &anew).await?;
    for (slot, opened) in slots.iter().zip(anew) {
        slot.put(opened);
    }
    *core.journal.write() = Some(journal);
    Ok(())
}
