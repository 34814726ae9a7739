//! What keeps an engine going without anybody asking.
//!
//! - The log is given up as far as the store's files have its rows, and spare segments are made.
//! - Writing resumes when the disk has room again, or when the store has caught up.
//! - A database that failed is closed and opened anew, again and again with growing pauses, until it opens.
//!
//! Timeline of a failure: a commit fails → its batches are answered `Unknown`, health is `Recovering` → reads and writes are
//! refused → the old database is closed, its log poisoned → a new one opens from what the disk holds, and puts what it
//! replayed into the store's files → health is `Healthy`.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::Shutdown;

use super::{Core, Opened, Runtimes, close_database, open};
use crate::Health;
use crate::log::Resume;

/// How often the engine looks after itself when nothing happens.
const TICK: Duration = Duration::from_millis(500);

const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Looks after the engine until the end is asked for.
pub(super) async fn run(core: Arc<Core>, runtimes: Runtimes, shutdown: Shutdown) {
    loop {
        let opened = core.opened();
        tokio::select! {
            () = shutdown.requested() => return,
            () = core.failed.notified() => {}
            () = rolled(opened.as_deref()) => {}
            () = tokio::time::sleep(TICK) => {}
        }
        let closed_itself = opened
            .as_ref()
            .is_some_and(|opened| opened.db.status().close_reason.is_some());
        if closed_itself || core.health.get() == Health::Recovering {
            drop(opened);
            tokio::select! {
                () = shutdown.requested() => return,
                () = recover(&core, &runtimes) => {}
            }
        } else if let Some(opened) = opened {
            tidy(&core, &opened).await;
        }
    }
}

async fn rolled(opened: Option<&Opened>) {
    match opened {
        Some(opened) => opened.journal.rolled().await,
        None => std::future::pending().await,
    }
}

/// Gives up what is flushed, makes spares, and notes whether writing can go on.
async fn tidy(core: &Core, opened: &Opened) {
    let health = core.health.get();
    match opened.tidy().await {
        Ok(()) if opened.journal.is_backlogged() => {}
        Ok(()) => {
            // Only from these two: a failure that was noted meanwhile must not be forgotten.
            if core.health.replace(health, Health::Healthy) && health != Health::Healthy {
                tracing::info!(was = health.as_str(), "writes are taken again");
            }
        }
        Err(error) => tracing::debug!(%error, "no spare segments of the log"),
    }
}

async fn recover(core: &Core, runtimes: &Runtimes) {
    core.health.set(Health::Recovering);
    let failed = core.current.write().take();
    if let Some(failed) = failed {
        failed.journal.retire();
        close_database(&failed).await;
    }
    let mut pause = RETRY_FIRST;
    loop {
        match open::open(core, runtimes, Resume::Afresh).await {
            Ok(opened) => {
                *core.current.write() = Some(Arc::new(opened));
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
