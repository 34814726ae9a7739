//! [`Recorder`]: collects the metrics of a run. Workers and client write to it, and the display reads from it.

use super::metrics::{Live, Measured, Metrics};
use super::mix::Kind;
use partita_client::{AttemptEvent, RetryObserver};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

tokio::task_local! {
    /// The partition of the current task's operation; `None` for a scan. Not set outside an operation, so that requests
    /// before and after the run are not counted.
    pub(super) static OPERATION_PARTITION: Option<String>;
}

/// Records a run. Must be the observer of the client that the run uses. Requests outside the run are not counted.
#[derive(Debug)]
pub struct Recorder {
    begin: OnceLock<Instant>,
    attempts: AtomicU64,
    metrics: Mutex<Metrics>,
}

impl Recorder {
    /// A recorder for a run with this ramp.
    pub fn new(ramp: Duration) -> Self {
        Self {
            begin: OnceLock::new(),
            attempts: AtomicU64::new(0),
            metrics: Mutex::new(Metrics::new(ramp)),
        }
    }

    /// The current figures.
    pub fn live(&self) -> Live {
        self.metrics()
            .live(self.now(), self.attempts.load(Ordering::Relaxed))
    }

    /// Records that the partition had rows before the run.
    pub fn found(&self, partition_key: &str) {
        self.metrics().found(partition_key);
    }

    /// Begins the run, unless it has begun already.
    pub(super) fn begin(&self) -> Instant {
        *self.begin.get_or_init(Instant::now)
    }

    /// The time since the start of the run.
    pub(super) fn now(&self) -> Duration {
        self.begin.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    pub(super) fn began(&self, kind: Kind, partition_key: &str, entities: u64) {
        self.metrics()
            .began(self.now(), kind, partition_key, entities);
    }

    pub(super) fn end(&self, at: Duration, is_closed: bool) -> Measured {
        self.metrics()
            .end(at, self.attempts.load(Ordering::Relaxed), is_closed)
    }

    pub(super) fn metrics(&self) -> MutexGuard<'_, Metrics> {
        // A panic while the lock is held ends the run, and the figures remain valid.
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RetryObserver for Recorder {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        // Most operations succeed at the first attempt. Only their number is counted, without the lock.
        let is_plain = event.error.is_none() && event.attempt == 1;
        let _ = OPERATION_PARTITION.try_with(|partition_key| {
            self.attempts.fetch_add(1, Ordering::Relaxed);
            if !is_plain {
                self.metrics()
                    .attempted(self.now(), partition_key.as_deref(), event);
            }
        });
    }
}
