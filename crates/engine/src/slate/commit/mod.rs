//! The commit loop: commits the waiting batches in groups of limited size.
//!
//! The loop and SlateDB's writer tasks share one dedicated thread with its own runtime. Submissions wake that thread at
//! most once for each group. From the wake-up to the completions, all work of the group stays on that thread. While a
//! group is synced, the next group collects in the queue, so the group size adapts to the load.
//!
//! ```text
//!  thread: take the queue ─▶ room in the WAL? ─▶ write ─▶ (writer tasks: WAL, sync, memtables) ─▶ completions ─▶ again
//! ```
//!
//! A group may contain several ranges. The rows of each range become one batch of its database; these batches are
//! written at the same time and share one sync.

mod group;
mod queue;

use std::io;
use std::sync::Arc;

use partita_rt::threads::OwnThread;
use tokio::sync::watch;

use self::queue::Work;
use super::core::Core;

pub(super) use self::queue::{CommitQueue, RangeIntake};

/// The thread of the commit loop.
pub(super) struct CommitThread {
    pub(super) queue: Arc<CommitQueue>,
    stop: watch::Sender<bool>,
    pub(super) thread: OwnThread,
}

impl CommitThread {
    /// Starts the thread, which waits until there is something to commit.
    pub(super) fn start(core: Arc<Core>) -> io::Result<Self> {
        let queue = Arc::new(CommitQueue::default());
        let (stop, mut stopped) = watch::channel(false);
        let to_commit = Arc::clone(&queue);
        let thread = OwnThread::start("partita-commit", async move {
            let group_bytes_max = core.context.settings.group_bytes_max;
            while let Some(work) = to_commit.next(group_bytes_max).await {
                match work {
                    Work::Group(group) => group::commit(&core, group).await,
                    Work::Pin(request) => request.begin().await,
                }
            }
            drop(core);
            to_commit.set_drained();
            // Keeps the thread alive for SlateDB's writer tasks until their databases are closed. An error means that
            // the engine set was dropped.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        })?;
        Ok(Self {
            queue,
            stop,
            thread,
        })
    }

    /// Closes the queue and waits until all batches in it are completed.
    pub(super) async fn drain(&self) {
        self.queue.close();
        self.queue.drained().await;
    }

    /// Ends the thread. Call it after [`CommitThread::drain`], once the databases are closed.
    pub(super) async fn stop(&self) {
        self.stop.send_replace(true);
        // The thread has finished its work; joining it takes microseconds.
        self.thread.join().await;
    }
}

impl Drop for CommitThread {
    fn drop(&mut self) {
        self.queue.close();
        self.stop.send_replace(true);
    }
}
