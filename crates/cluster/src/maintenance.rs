//! Background work: returns the space of deleted rows, and deletes the leftovers of splits, merges and snapshots.
//!
//! ```text
//!  every host, for the ranges it serves:  copy files shared with other databases ─▶ compact deleted rows
//!                                         ─▶ delete files that nothing reads
//!  the controller, for the whole store:   release pins that no snapshot names ─▶ delete databases of replaced ranges
//!                                         ─▶ empty the trash, where deleted databases are kept for a while
//! ```
//!
//! Host and controller share one process, so one round does the work of both, every ten seconds. The controller decides
//! what is deleted; this module starts the rounds.

use crate::controller::Request;
use crate::driver::Driver;
use crate::host::LocalHost;
use partita_rt::{Shutdown, Tasks};
use std::sync::Arc;
use std::time::Duration;

/// The pause between two rounds.
const PERIOD: Duration = Duration::from_secs(10);

/// Starts the rounds.
pub(crate) fn start(host: &Arc<LocalHost>, driver: &Arc<Driver>, tasks: &Tasks) {
    let (round_host, round_driver) = (Arc::clone(host), Arc::clone(driver));
    let shutdown = tasks.shutdown();
    tasks.spawn("maintenance", async move {
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                () = tokio::time::sleep(PERIOD) => round(&round_host, &round_driver, &shutdown).await,
            }
        }
    });
    let (host, driver, shutdown) = (Arc::clone(host), Arc::clone(driver), tasks.shutdown());
    tasks.spawn("delete replaced ranges", async move {
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                () = host.closed() => delete_replaced(&driver).await,
            }
        }
    });
}

/// Runs one maintenance round. Ends early at a shutdown: on a slow store, a round over many ranges takes longer than a
/// stopping server waits.
pub(crate) async fn round(host: &LocalHost, driver: &Arc<Driver>, shutdown: &Shutdown) {
    host.maintain_ranges(shutdown).await;
    if shutdown.is_requested() {
        return;
    }
    release_pins(driver).await;
    delete_replaced(driver).await;
    if shutdown.is_requested() {
        return;
    }
    if let Err(error) = driver.parts().engines.sweep_trash().await {
        tracing::debug!(%error, "cannot delete removed databases from the trash; the next round will retry");
    }
}

/// Releases pins that are in no snapshot record, if due.
pub(crate) async fn release_pins(driver: &Arc<Driver>) {
    ask(driver, Request::ReleasePins).await;
}

/// Deletes unneeded databases.
pub(crate) async fn delete_replaced(driver: &Arc<Driver>) {
    ask(driver, Request::DeleteReplaced).await;
}

async fn ask(driver: &Arc<Driver>, request: Request) {
    if let Err(error) = driver.ask(request).await {
        tracing::error!(%error, "a maintenance round failed");
    }
}
