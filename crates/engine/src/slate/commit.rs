//! The commit loop: all batches that wait, in one group.
//!
//! The loop and SlateDB's writer task share one thread with a runtime of its own. Whoever submits wakes that thread at most
//! once for a group; from there to the completions nothing crosses threads. While a group is being synced the next one
//! gathers, so the size of groups follows the load by itself.
//!
//! ```text
//!  thread: take what waits ─▶ room in the log? ─▶ write ─▶ (writer task: log, sync, memtable) ─▶ completions ─▶ again
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use partita_rt::{Clock, SystemClock};
use slatedb::WriteBatch;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::{Core, Opened};
use crate::pipeline::{Intake, Queued};
use crate::{Health, Refusal, WriteError};

/// The thread of the commit loop.
pub(super) struct CommitThread {
    intake: Arc<CommitQueue>,
    runtime: Handle,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

/// Batches that wait for the loop. Bounded by the room that each of them holds.
pub(super) struct CommitQueue {
    state: Mutex<State>,
    /// The loop has something to do.
    wake: Notify,
    /// The queue was closed and everything in it was answered.
    drained: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Queued>,
    closed: bool,
}

impl CommitThread {
    /// Starts the thread; it waits until there is a database and something to commit.
    pub(super) fn start(core: Arc<Core>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .thread_name("partita-commit")
            .build()?;
        let handle = runtime.handle().clone();
        let intake = Arc::new(CommitQueue {
            state: Mutex::default(),
            wake: Notify::new(),
            drained: watch::Sender::new(false),
        });
        let (stop, mut stopped) = watch::channel(false);
        let queue = Arc::clone(&intake);
        let thread = thread::Builder::new()
            .name("partita-commit".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    while let Some(group) = queue.next_group(core.settings.group_bytes_max).await {
                        commit(&core, group).await;
                    }
                    drop(core);
                    queue.drained.send_replace(true);
                    // SlateDB's writer task lives here and must be able to end. An error means that the engine is gone.
                    let _ = stopped.wait_for(|stopped| *stopped).await;
                });
            })?;
        Ok(Self {
            intake,
            runtime: handle,
            stop,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn intake(&self) -> &Arc<CommitQueue> {
        &self.intake
    }

    /// Where SlateDB's writer task belongs.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Takes no more batches, and waits until all that were taken are answered.
    pub(super) async fn drain(&self) {
        self.intake.close();
        let mut drained = self.intake.drained.subscribe();
        // The sender lives as long as the queue does, which is here.
        let _ = drained.wait_for(|drained| *drained).await;
    }

    /// Ends the thread. To be called after [`CommitThread::drain`], once the database is closed.
    pub(super) async fn stop(&self) {
        self.stop.send_replace(true);
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // The thread has nothing left to wait for; joining it takes microseconds.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl Drop for CommitThread {
    fn drop(&mut self) {
        self.intake.close();
        self.stop.send_replace(true);
    }
}

impl Intake for CommitQueue {
    fn take(&self, queued: Queued) {
        let refused = {
            let mut state = self.state.lock();
            if state.closed {
                Some(queued)
            } else {
                state.waiting.push_back(queued);
                // The loop takes all that waits, so only the first needs to wake it.
                if state.waiting.len() == 1 {
                    self.wake.notify_one();
                }
                None
            }
        };
        if let Some(queued) = refused {
            queued.answer(Err(Refusal::Closed.into()));
        }
    }
}

impl CommitQueue {
    fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    /// What waits, up to `bytes_max` (but at least one batch), in order. `None` once closed and empty.
    async fn next_group(&self, bytes_max: usize) -> Option<Vec<Queued>> {
        loop {
            {
                let mut state = self.state.lock();
                if !state.waiting.is_empty() {
                    return Some(take_group(&mut state.waiting, bytes_max));
                }
                if state.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }
}

fn take_group(waiting: &mut VecDeque<Queued>, bytes_max: usize) -> Vec<Queued> {
    let mut bytes = 0;
    let mut count = 0;
    for queued in waiting.iter() {
        bytes += queued.batch.bytes();
        if count > 0 && bytes > bytes_max {
            break;
        }
        count += 1;
    }
    waiting.drain(..count).collect()
}

/// Commits a group and answers everybody in it.
async fn commit(core: &Core, mut group: Vec<Queued>) {
    let Some(opened) = core.opened() else {
        let refusal = core.health.get().refusal().unwrap_or(Refusal::Recovering);
        return refuse(core, group, refusal);
    };
    let bytes: usize = group.iter().map(|queued| queued.batch.bytes()).sum();
    let rows: usize = group.iter().map(|queued| queued.batch.len()).sum();
    // One group has waited for the flush already; those behind it need not wait as long again.
    if core.health.get() == Health::Backlogged && opened.journal.is_backlogged() {
        return refuse(core, group, Refusal::Busy);
    }
    if let Err(refusal) = opened.journal.make_room(rows, bytes).await {
        note_refusal(core, refusal);
        return refuse(core, group, refusal);
    }
    if rows > 0
        && let Err(error) = write(core, &opened, &mut group).await
    {
        tracing::error!(%error, batches = group.len(), "a commit failed: the data is opened anew");
        core.counts.unknown(group.len());
        core.fail();
        for queued in group {
            queued.answer(Err(WriteError::Unknown));
        }
        return;
    }
    core.counts.group(group.len(), rows, bytes);
    for queued in group {
        queued.answer(Ok(()));
    }
}

/// Writes the group's rows as one batch of SlateDB and returns once they are durable. Where two batches name one key, the
/// later one wins.
async fn write(core: &Core, opened: &Opened, group: &mut [Queued]) -> Result<(), slatedb::Error> {
    let mut merged = WriteBatch::new();
    for queued in group {
        for write in std::mem::take(&mut queued.batch).into_writes() {
            match write.value {
                Some(value) => merged.put_bytes(write.key, value),
                None => merged.delete(write.key),
            }
        }
    }
    let started = SystemClock.monotonic();
    opened.journal.write(&opened.db, merged).await?;
    let elapsed = SystemClock.monotonic() - started;
    core.counts
        .sync_us
        .record(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
    Ok(())
}

/// Turns new writes away at the door until the supervisor finds that they can be taken again.
fn note_refusal(core: &Core, refusal: Refusal) {
    let health = match refusal {
        Refusal::DiskFull => Health::DiskFull,
        Refusal::Busy => Health::Backlogged,
        _ => return,
    };
    if core.health.replace(Health::Healthy, health) {
        tracing::error!(
            why = health.as_str(),
            "writes are refused until there is room"
        );
    }
}

fn refuse(core: &Core, group: Vec<Queued>, refusal: Refusal) {
    core.counts.refused(group.len());
    for queued in group {
        queued.answer(Err(refusal.into()));
    }
}
