//! Threads for what nobody waits for: flushing, compacting, collecting garbage.
//!
//! Compressing and merging takes a core for milliseconds at a time. On the threads that serve requests it would hold up every
//! request behind it, so it has threads of its own, and those give way to all others: when the machine is busy, requests come
//! first. That cannot starve the flush for long, because writes wait for it once the log is full of unflushed rows.

use std::io;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};

/// A flush need not wait for a compaction on the same thread.
const THREADS: usize = 2;

/// Threads for file operations; a handful are in use at once.
const BLOCKING_THREADS_MAX: usize = 16;

/// How much these threads give way: a tenth of the weight of others when there is not enough for all.
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
            .on_thread_start(give_way)
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

    /// Ends the threads without waiting for them. To be called once the database is closed.
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

/// Lowers the priority of this thread (on Linux it is the thread's own, not the process's). Without the right to do so, all
/// goes on as before.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}
