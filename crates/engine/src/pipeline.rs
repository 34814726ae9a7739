//! The pipeline: from a caller to the loop that commits its batch.
//!
//! ```text
//!  reserve(bytes) ──▶ Permit ──submit(batch, done)──▶ queue ──▶ commit loop ──▶ durable ──▶ done(Ok)
//!     waits or refuses          neither waits nor fails            one group            then the room is free
//! ```
//!
//! - Room is counted in bytes and bounds the queue and the later stages. A batch larger than the total room waits until
//!   the pipeline is empty and then takes all of the room; later batches wait for it.
//! - The completion of a queued batch is called exactly once, also when the loop dies: dropping the batch reports
//!   `Unknown`.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::{Batch, Refusal, WriteError};

/// Called once with the outcome of a batch. Runs on the commit loop, in submit order: it must be quick and must not
/// block; it may call the engine. An in-memory engine may call it before [`Permit::submit`] returns, on the caller's
/// thread, so the caller must not hold a lock that the completion takes.
pub type Completion = Box<dyn FnOnce(Result<(), WriteError>) + Send>;

/// The queue of an engine, as [`Permit::submit`] uses it.
pub(crate) trait Intake: Send + Sync {
    /// Takes the batch without waiting, and ensures that its completion is called.
    fn take(&self, queued: Queued);
}

/// Room in the pipeline for one batch. Dropping the permit releases the room.
#[must_use = "a permit does nothing until a batch is submitted"]
pub struct Permit {
    pub(crate) intake: Arc<dyn Intake>,
    room: OwnedSemaphorePermit,
}

impl Permit {
    /// Queues `batch` and returns at once; `done` is called with the outcome. The completion of an empty batch is
    /// called in order, like any other. A batch larger than the reserved room is accepted too, and exceeds the limit of
    /// the pipeline.
    pub fn submit(self, batch: Batch, done: Completion) {
        self.intake.take(Queued::new(batch, done, Some(self.room)));
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("bytes", &self.room.num_permits())
            .finish_non_exhaustive()
    }
}

/// A batch in the pipeline, with its completion and its room.
pub(crate) struct Queued {
    pub(crate) batch: Batch,
    pub(crate) done: Option<Completion>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Queued {
    pub(crate) fn new(batch: Batch, done: Completion, room: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            batch,
            done: Some(done),
            _room: room,
        }
    }

    /// Reports the outcome of the batch and releases its reserved bytes.
    pub(crate) fn answer(mut self, result: Result<(), WriteError>) {
        self.call(result);
    }

    /// Calls the completion; a panic in it must not end the commit loop.
    fn call(&mut self, result: Result<(), WriteError>) {
        if let Some(done) = self.done.take()
            && catch_unwind(AssertUnwindSafe(|| done(result))).is_err()
        {
            tracing::error!("a completion panicked");
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.call(Err(WriteError::Unknown));
    }
}

/// The largest batch, in bytes. Small requests can write large rows: 100 patches of entities of 1 MiB write 100 whole
/// entities and their keys. Each takes up to 1.5 MiB in stored form, because the entity limit counts two bytes per
/// character and the stored form uses up to three.
pub(crate) const BATCH_BYTES_MAX: usize = 160 << 20;

/// The room for batches in flight, counted in bytes.
#[derive(Debug)]
pub(crate) struct Room {
    free: Arc<Semaphore>,
    bytes_max: u32,
    batch_bytes_max: usize,
}

impl Room {
    /// How long a caller waits for room before it is refused: longer than a flush that makes progress, shorter than the
    /// timeout of any client.
    const DEADLINE: Duration = Duration::from_secs(5);

    pub(crate) fn new(bytes_max: u32, batch_bytes_max: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(bytes_max as usize)),
            bytes_max,
            batch_bytes_max,
        }
    }

    /// Waits for room for `bytes`, or refuses. Cancel safe.
    pub(crate) async fn reserve(
        &self,
        bytes: usize,
        intake: &Arc<impl Intake + 'static>,
    ) -> Result<Permit, WriteError> {
        if bytes > self.batch_bytes_max {
            return Err(Refusal::TooLarge.into());
        }
        let bytes = u32::try_from(bytes).map_or(self.bytes_max, |bytes| bytes.min(self.bytes_max));
        let room = match Arc::clone(&self.free).try_acquire_many_owned(bytes) {
            Ok(room) => room,
            Err(TryAcquireError::Closed) => return Err(Refusal::Closed.into()),
            Err(TryAcquireError::NoPermits) => {
                let waiting = Arc::clone(&self.free).acquire_many_owned(bytes);
                match tokio::time::timeout(Self::DEADLINE, waiting).await {
                    Ok(Ok(room)) => room,
                    Ok(Err(_closed)) => return Err(Refusal::Closed.into()),
                    Err(_elapsed) => return Err(Refusal::Busy.into()),
                }
            }
        };
        Ok(Permit {
            intake: Arc::clone(intake) as Arc<dyn Intake>,
            room,
        })
    }

    /// Refuses all waiting and all later callers.
    pub(crate) fn close(&self) {
        self.free.close();
    }
}
