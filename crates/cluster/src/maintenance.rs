//! Background work: returns the space of deleted rows, and deletes the leftovers of splits, merges and snapshots.
//!
//! ```text
//!  every host, for the ranges it serves:  copy files shared with other databases ─▶ compact deleted rows
//!                                         ─▶ delete files that nothing reads
//!  the controller, for the whole store:   release pins that no snapshot names ─▶ delete databases of replaced ranges
//!                                         ─▶ empty the trash, where deleted databases are kept for a while
//! ```
//!
//! Every ten seconds there is a round of each. The controller decides what is deleted; this module starts the rounds.

use crate::controller::Request;
use crate::driver::Driver;
use crate::host::LocalHost;
use partita_rt::{Shutdown, Tasks};
use std::sync::Arc;
use std::time::Duration;

/// The pause between two rounds.
const PERIOD: Duration = Duration::from_secs(10);

/// Starts the rounds of a process that is host and controller of all ranges.
pub(crate) fn start(host: &Arc<LocalHost>, driver: &Arc<Driver>, tasks: &Tasks) {
    let (round_host, round_driver) = (Arc::clone(host), Arc::clone(driver));
    let shutdown = tasks.shutdown();
    tasks.spawn("maintenance", async move {
        while is_due(&shutdown).await {
            round_of_host(&round_host, &shutdown).await;
            round_of_controller(&round_driver, &shutdown).await;
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

/// Starts the rounds of a host.
pub(crate) fn start_of_host(host: &Arc<LocalHost>, tasks: &Tasks) {
    let (host, shutdown) = (Arc::clone(host), tasks.shutdown());
    tasks.spawn("maintenance", async move {
        while is_due(&shutdown).await {
            round_of_host(&host, &shutdown).await;
        }
    });
}

/// Starts the rounds of a manager.
pub(crate) fn start_of_manager(driver: &Arc<Driver>, tasks: &Tasks) {
    let (driver, shutdown) = (Arc::clone(driver), tasks.shutdown());
    tasks.spawn("maintenance of the store", async move {
        while is_due(&shutdown).await {
            round_of_controller(&driver, &shutdown).await;
        }
    });
}

/// Waits for the next round. Returns `false` at a shutdown.
async fn is_due(shutdown: &Shutdown) -> bool {
    tokio::select! {
        () = shutdown.requested() => false,
        () = tokio::time::sleep(PERIOD) => true,
    }
}

/// Maintains the ranges of this process. Ends early at a shutdown: on a slow store, a round over many ranges takes longer
/// than a stopping server waits.
pub(crate) async fn round_of_host(host: &LocalHost, shutdown: &Shutdown) {
    host.maintain_ranges(shutdown).await;
}

/// Deletes what the store no longer needs, until a shutdown.
pub(crate) async fn round_of_controller(driver: &Arc<Driver>, shutdown: &Shutdown) {
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
