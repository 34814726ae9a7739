//! The commit loop: all batches that wait, in one group.
//!
//! The loop and SlateDB's writer tasks share one thread with a runtime of its own. Whoever submits wakes that thread at most
//! once for a group; from there to the completions nothing crosses threads. While a group is being synced the next one
//! gathers, so the size of groups follows the load by itself.
//!
//! ```text
//!  thread: take what waits ─▶ room in the log? ─▶ write ─▶ (writer tasks: log, sync, memtables) ─▶ completions ─▶ again
//! ```
//!
//! A group may name several ranges. Each range's rows are one batch of its database; they are written at the same time and share
//! one sync.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use partita_rt::threads::OwnThread;
use partita_rt::{Bug, Clock, SystemClock, is_planted};
use slatedb::WriteBatch;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};

use super::Opened;
use super::core::{Core, Slot};
use super::journal::Journal;
use super::pin::Cut;
use crate::log::record_bytes_max;
use crate::pipeline::{Intake, Queued};
use crate::{Batch, Health, Refusal, WriteError};

/// The thread of the commit loop.
pub(super) struct CommitThread {
    intake: Arc<CommitQueue>,
    stop: watch::Sender<bool>,
    thread: OwnThread,
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
    waiting: VecDeque<Waiting>,
    /// Come before the next group. As many as callers who pin, and those take turns.
    cuts: VecDeque<Cut>,
    closed: bool,
}

/// What the loop does next.
enum Work {
    Group(Vec<Waiting>),
    Cut(Cut),
}

/// A batch and where it belongs.
struct Waiting {
    slot: Arc<Slot>,
    queued: Queued,
}

/// Takes in the batches of one range.
pub(super) struct RangeIntake {
    queue: Arc<CommitQueue>,
    slot: Arc<Slot>,
}

impl RangeIntake {
    pub(super) fn new(queue: Arc<CommitQueue>, slot: Arc<Slot>) -> Self {
        Self { queue, slot }
    }

    /// Waits until every batch taken so far is answered.
    pub(super) async fn drain(&self) {
        let (sender, receiver) = oneshot::channel();
        let done = Box::new(move |_| {
            // Nobody listens when the closing was given up.
            let _ = sender.send(());
        });
        self.take(Queued::new(Batch::new(), done, None));
        // Answered in its turn, behind all others; dropped when the loop is gone, and then nothing is in flight.
        let _ = receiver.await;
    }
}

impl Intake for RangeIntake {
    fn take(&self, queued: Queued) {
        let slot = Arc::clone(&self.slot);
        self.queue.take(Waiting { slot, queued });
    }
}

impl CommitThread {
    /// Starts the thread; it waits until there is a database and something to commit.
    pub(super) fn start(core: Arc<Core>) -> io::Result<Self> {
        let intake = Arc::new(CommitQueue {
            state: Mutex::default(),
            wake: Notify::new(),
            drained: watch::Sender::new(false),
        });
        let (stop, mut stopped) = watch::channel(false);
        let queue = Arc::clone(&intake);
        let thread = OwnThread::start("partita-commit", async move {
            while let Some(work) = queue.next(core.settings.group_bytes_max).await {
                match work {
                    Work::Group(group) => commit(&core, group).await,
                    Work::Cut(cut) => cut.make().await,
                }
            }
            drop(core);
            queue.drained.send_replace(true);
            // SlateDB's writer task lives here and must be able to end. An error means that the engine is gone.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        })?;
        Ok(Self {
            intake,
            stop,
            thread,
        })
    }

    pub(super) fn intake(&self) -> &Arc<CommitQueue> {
        &self.intake
    }

    /// Where SlateDB's writer task belongs.
    pub(super) fn runtime(&self) -> &Handle {
        self.thread.runtime()
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
        // The thread has nothing left to wait for; joining it takes microseconds.
        self.thread.join().await;
    }
}

impl Drop for CommitThread {
    fn drop(&mut self) {
        self.intake.close();
        self.stop.send_replace(true);
    }
}

impl CommitQueue {
    fn take(&self, waiting: Waiting) {
        let refused = {
            let mut state = self.state.lock();
            if state.closed {
                Some(waiting.queued)
            } else {
                state.waiting.push_back(waiting);
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

    /// Has the loop stand still between two groups. Dropped unmade once the queue is closed.
    pub(super) fn cut(&self, cut: Cut) {
        let mut state = self.state.lock();
        if !state.closed {
            state.cuts.push_back(cut);
            self.wake.notify_one();
        }
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    /// A cut; else what waits, up to `bytes_max` (but at least one batch), in order. `None` once closed and empty.
    async fn next(&self, bytes_max: usize) -> Option<Work> {
        loop {
            {
                let mut state = self.state.lock();
                if let Some(cut) = state.cuts.pop_front() {
                    return Some(Work::Cut(cut));
                }
                if !state.waiting.is_empty() {
                    return Some(Work::Group(take_group(&mut state.waiting, bytes_max)));
                }
                if state.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }
}

fn take_group(waiting: &mut VecDeque<Waiting>, bytes_max: usize) -> Vec<Waiting> {
    let mut bytes = 0;
    let mut count = 0;
    for Waiting { queued, .. } in waiting.iter() {
        bytes += queued.batch.bytes();
        if count > 0 && bytes > bytes_max {
            break;
        }
        count += 1;
    }
    waiting.drain(..count).collect()
}

/// What a group writes in one range.
struct Part {
    slot: Arc<Slot>,
    opened: Arc<Opened>,
    batches: Vec<Queued>,
    rows: usize,
    bytes: usize,
    failed: bool,
}

/// Commits a group and answers everybody in it.
async fn commit(core: &Core, group: Vec<Waiting>) {
    let parts = parts(core, group);
    let Some(journal) = core.journal() else {
        for part in parts {
            let refusal = core.refusal(&part.slot);
            refuse(core, part.batches, refusal);
        }
        return;
    };
    if let Err(refusal) = make_room(core, &journal, record_bytes(&parts)).await {
        for part in parts {
            refuse(core, part.batches, refusal);
        }
        return;
    }
    let writing = parts.iter().filter(|part| part.rows > 0);
    journal.begin(writing.map(|part| part.slot.range));
    let started = SystemClock.monotonic();
    let parts = match <[Part; 1]>::try_from(parts) {
        Ok([mut part]) => {
            write(&journal, &mut part).await;
            vec![part]
        }
        Err(mut parts) => {
            let writing = parts.iter_mut().map(|part| write(&journal, part));
            futures::future::join_all(writing).await;
            parts
        }
    };
    let elapsed = SystemClock.monotonic() - started;
    answer(core, parts, elapsed);
}

/// The group by range. Ranges that are not open are refused.
fn parts(core: &Core, group: Vec<Waiting>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(1);
    for Waiting { slot, queued } in group {
        let (rows, bytes) = (queued.batch.len(), queued.batch.bytes());
        let known = parts.iter_mut().find(|part| part.slot.range == slot.range);
        if let Some(part) = known {
            part.rows += rows;
            part.bytes += bytes;
            part.batches.push(queued);
        } else if let Some(opened) = slot.opened() {
            parts.push(Part {
                slot,
                opened,
                batches: vec![queued],
                rows,
                bytes,
                failed: false,
            });
        } else {
            let refusal = core.refusal(&slot);
            refuse(core, vec![queued], refusal);
        }
    }
    parts
}

/// The most that the records of a group take in the log.
fn record_bytes(parts: &[Part]) -> u64 {
    parts
        .iter()
        .map(|part| record_bytes_max(part.rows, part.bytes))
        .sum()
}

async fn make_room(core: &Core, journal: &Journal, bytes: u64) -> Result<(), Refusal> {
    // One group has waited for the flush already; those behind it need not wait as long again.
    if core.health.get() == Health::Backlogged && journal.is_backlogged() {
        return Err(Refusal::Busy);
    }
    let room = journal.make_room(bytes).await;
    if let Err(refusal) = room {
        note_refusal(core, refusal);
    }
    room
}

/// Writes a part as one batch of its database. Where two batches name one key, the later one wins.
async fn write(journal: &Journal, part: &mut Part) {
    if part.rows == 0 {
        return;
    }
    let mut merged = WriteBatch::new();
    for queued in &mut part.batches {
        for write in std::mem::take(&mut queued.batch).into_writes() {
            match write.value {
                Some(value) => merged.put_bytes(write.key, value),
                None => merged.delete(write.key),
            }
        }
    }
    if is_planted(Bug::AckBeforeDurable) {
        for queued in part.batches.drain(..) {
            queued.answer(Ok(()));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let range = part.slot.range;
    if let Err(error) = journal.write(range, &part.opened.db, merged).await {
        tracing::error!(%error, %range, "a commit failed: the data is opened anew");
        part.failed = true;
    }
}

/// Counts the group, and tells everybody in it what became of it.
fn answer(core: &Core, parts: Vec<Part>, elapsed: Duration) {
    let (mut batches, mut rows, mut bytes) = (0, 0, 0);
    for part in &parts {
        if part.failed {
            core.counts.unknown(part.batches.len());
            core.fail();
        } else {
            batches += part.batches.len();
            rows += part.rows;
            bytes += part.bytes;
        }
    }
    if batches > 0 {
        core.counts.group(batches, rows, bytes);
    }
    if rows > 0 {
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        core.counts.sync_us.record(elapsed_us);
    }
    for part in parts {
        let result = if part.failed {
            Err(WriteError::Unknown)
        } else {
            Ok(())
        };
        for queued in part.batches {
            queued.answer(result);
        }
    }
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
