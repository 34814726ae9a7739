//! Gives freed memory back to the system. An allocator keeps freed memory for a while, because the next allocation is likely
//! to need it, and looks at the time only when the program frees more. So after a burst, an idle server would keep all of it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use partita_rt::Shutdown;
use partita_rt::threads::spawn_blocking;
use partita_service::MemoryBudget;

/// The usual time between two releases. Released memory costs time when it is used again.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time between two releases while bodies and answers take more than half of their memory: freed memory comes on top.
const SHORT_INTERVAL: Duration = Duration::from_millis(100);

static RELEASE: OnceLock<fn()> = OnceLock::new();

/// Sets the function with which the program's allocator gives freed memory back to the system, from any thread. Servers that
/// start later call it at least once a second. Only the first call counts.
pub fn set_release_freed_memory(release: fn()) {
    let _ = RELEASE.set(release);
}

/// Gives freed memory back in intervals, until shutdown.
pub(crate) async fn release_regularly(in_flight: Arc<MemoryBudget>, shutdown: Shutdown) {
    let Some(release) = RELEASE.get().copied() else {
        return;
    };
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
