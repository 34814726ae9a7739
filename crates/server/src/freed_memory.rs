//! Gives freed memory back to the system. The allocator keeps freed memory for a while, because the next allocation is
//! likely to need it. It looks at the time only when the program frees more, so an idle server would keep the memory of
//! its last burst.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use partita_rt::threads::spawn_blocking;
use partita_rt::{Shutdown, Tasks};
use partita_service::MemoryBudget;

/// The usual time between two releases. Released memory costs time when it is used again.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time between two releases while bodies and answers take more than half of their budget: freed memory that is not
/// given back yet comes on top of it.
const SHORT_INTERVAL: Duration = Duration::from_millis(100);

static RELEASE: OnceLock<fn()> = OnceLock::new();

/// Sets the function with which the program's allocator gives freed memory back to the system, from any thread. Servers that
/// start later call it at least once a second. Only the first call counts.
pub fn set_release_freed_memory(release: fn()) {
    let _ = RELEASE.set(release);
}

/// Starts a task that gives freed memory back in intervals, until shutdown. Does nothing without a function for it.
pub(crate) fn release_regularly(in_flight: &Arc<MemoryBudget>, background: &Tasks) {
    if let Some(release) = RELEASE.get().copied() {
        let releasing = run(release, Arc::clone(in_flight), background.shutdown());
        background.spawn("release freed memory", releasing);
    }
}

async fn run(release: fn(), in_flight: Arc<MemoryBudget>, shutdown: Shutdown) {
    loop {
        let is_scarce = in_flight.bytes() > in_flight.bytes_max() / 2;
        let interval = if is_scarce { SHORT_INTERVAL } else { INTERVAL };
        tokio::select! {
            () = shutdown.requested() => return,
            () = tokio::time::sleep(interval) => {}
        }
        // Not on a thread that serves requests: to give back hundreds of megabytes takes milliseconds.
        let _ = spawn_blocking(release).await;
    }
}
