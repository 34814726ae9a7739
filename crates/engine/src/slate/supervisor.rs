//! What keeps an engine going without anybody asking.
//!
//! - A database that failed is closed and opened anew, again and again with growing pauses, until it opens.
//!
//! Timeline of a failure: a commit fails → its batches are answered `Unknown`, health is `Recovering` → reads and writes are
//! refused → the old database is closed → a new one opens from what the disk holds → health is `Healthy`.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::Shutdown;
use tokio::runtime::Handle;

use super::{Core, close_database, open};
use crate::Health;

/// How often the engine looks after itself.
const TICK: Duration = Duration::from_millis(500);

const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Looks after the engine until the end is asked for.
pub(super) async fn run(core: Arc<Core>, commit_runtime: Handle, shutdown: Shutdown) {
    loop {
        tokio::select! {
            () = shutdown.requested() => return,
            () = core.failed.notified() => {}
            () = tokio::time::sleep(TICK) => {}
        }
        let closed_itself = core
            .opened()
            .is_some_and(|opened| opened.db.status().close_reason.is_some());
        if closed_itself || core.health.get() == Health::Recovering {
            tokio::select! {
                () = shutdown.requested() => return,
                () = recover(&core, &commit_runtime) => {}
            }
        }
    }
}

async fn recover(core: &Core, commit_runtime: &Handle) {
    core.health.set(Health::Recovering);
    let failed = core.current.write().take();
    if let Some(failed) = failed {
        close_database(&failed).await;
    }
    let mut pause = RETRY_FIRST;
    loop {
        match open::open(core, commit_runtime).await {
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
