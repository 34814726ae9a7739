//! The queue of the commit loop: batches of all ranges, and pin requests, which run before the next group.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};

use crate::pipeline::{Intake, Queued};
use crate::slate::open_range::OpenRange;
use crate::slate::pin::PinRequest;
use crate::{Batch, Refusal};

/// The batches and pin requests that wait for the commit loop. Bounded, because each batch holds a permit for its
/// bytes, and each caller of `pin` waits for its request.
#[derive(Default)]
pub(in crate::slate) struct CommitQueue {
    state: Mutex<State>,
    /// Notified when the loop has work.
    wake: Notify,
    /// Whether the queue was closed and all its batches were completed.
    drained: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    batches: VecDeque<RangeBatch>,
    /// At most one for each concurrent caller of `pin`, because each waits for its request.
    pins: VecDeque<PinRequest>,
    closed: bool,
}

/// The next work of the loop.
pub(super) enum Work {
    Group(Vec<RangeBatch>),
    Pin(PinRequest),
}

/// A batch and its range.
pub(super) struct RangeBatch {
    pub(super) open: Arc<OpenRange>,
    pub(super) queued: Queued,
}

impl CommitQueue {
    fn push(&self, batch: RangeBatch) {
        let refused = {
            let mut state = self.state.lock();
            if state.closed {
                Some(batch.queued)
            } else {
                state.batches.push_back(batch);
                // The loop waits only while the queue is empty, so only the first batch needs to wake it.
                if state.batches.len() == 1 {
                    self.wake.notify_one();
                }
                None
            }
        };
        if let Some(queued) = refused {
            queued.answer(Err(Refusal::Closed.into()));
        }
    }

    /// Queues a pin request, which the loop starts between two groups. A closed queue drops the request.
    pub(in crate::slate) fn pin(&self, request: PinRequest) {
        let mut state = self.state.lock();
        if !state.closed {
            state.pins.push_back(request);
            self.wake.notify_one();
        }
    }

    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    pub(super) fn set_drained(&self) {
        self.drained.send_replace(true);
    }

    /// Waits until the loop has ended.
    pub(super) async fn drained(&self) {
        let mut drained = self.drained.subscribe();
        // The sender lives as long as the queue does.
        let _ = drained.wait_for(|drained| *drained).await;
    }

    /// The next pin request; without one, the waiting batches in order, up to `bytes_max` but at least one. `None` once
    /// the queue is closed and empty.
    pub(super) async fn next(&self, bytes_max: usize) -> Option<Work> {
        loop {
            {
                let mut state = self.state.lock();
                if let Some(request) = state.pins.pop_front() {
                    return Some(Work::Pin(request));
                }
                if !state.batches.is_empty() {
                    return Some(Work::Group(take_group(&mut state.batches, bytes_max)));
                }
                if state.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }
}

fn take_group(batches: &mut VecDeque<RangeBatch>, bytes_max: usize) -> Vec<RangeBatch> {
    let mut bytes = 0;
    let mut count = 0;
    for RangeBatch { queued, .. } in batches.iter() {
        bytes += queued.batch.bytes();
        if count > 0 && bytes > bytes_max {
            break;
        }
        count += 1;
    }
    batches.drain(..count).collect()
}

/// Adds the batches of one range to the queue.
pub(in crate::slate) struct RangeIntake {
    queue: Arc<CommitQueue>,
    open: Arc<OpenRange>,
}

impl RangeIntake {
    pub(in crate::slate) fn new(queue: Arc<CommitQueue>, open: Arc<OpenRange>) -> Self {
        Self { queue, open }
    }

    /// Waits until every batch queued so far is completed.
    pub(in crate::slate) async fn drain(&self) {
        let (sender, receiver) = oneshot::channel();
        let done = Box::new(move |_| {
            // Fails only if the caller was dropped.
            let _ = sender.send(());
        });
        self.take(Queued::new(Batch::new(), done, None));
        // This empty batch completes after all earlier batches. It is dropped if the loop has ended, and then no batch
        // is in flight.
        let _ = receiver.await;
    }
}

impl Intake for RangeIntake {
    fn take(&self, queued: Queued) {
        let open = Arc::clone(&self.open);
        self.queue.push(RangeBatch { open, queued });
    }
}
