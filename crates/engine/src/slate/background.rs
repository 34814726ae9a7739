//! Threads for background work: flushing, compacting, collecting garbage.
//!
//! Compressing and merging takes a core for milliseconds at a time, and would delay requests on the threads that serve them. So it has
//! threads of its own, with a lower priority: when the machine is busy, requests come first. That cannot starve the flush for long,
//! because writes wait for it once the WAL is full of unflushed rows.

use std::io;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};

/// Two, so that a flush need not wait for a compaction on the same thread.
const THREADS: usize = 2;

/// Threads for file operations; a handful are in use at once.
const BLOCKING_THREADS_MAX: usize = 16;

/// The priority of these threads: a tenth of the weight of others under contention.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// The runtime of the background work.
pub(super) struct Background {
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
}

impl Background {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("partita-store")
            .on_thread_start(lower_priority)
            .enable_time()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self {
            runtime: Mutex::new(Some(runtime)),
            handle,
        })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends the threads without waiting for them. Call it once the databases are closed.
    pub(super) fn stop(&self) {
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Lowers the priority of this thread (on Linux it is the thread's own, not the process's). Without permission it stays as it is.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}
