//! The figures of a run under way, shared by its workers, the client and whoever looks at it.

use super::metrics::{Live, Measured, Metrics, OperationEnd};
use super::mix::Kind;
use partita_client::{AttemptEvent, RetryObserver};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

tokio::task_local! {
    /// The partition that the operation of this task is about; none for a scan. Attempts outside of an operation are not the run's.
    pub(super) static OPERATION_PARTITION: Option<String>;
}

/// Records a run. It is the observer of the client that the run uses; what else that client does is not counted.
#[derive(Debug)]
pub struct Recorder {
    begin: OnceLock<Instant>,
    attempts: AtomicU64,
    metrics: Mutex<Metrics>,
}

impl Recorder {
    /// Of a run whose ramp takes so long.
    #[must_use]
    pub fn new(ramp: Duration) -> Self {
        Self {
            begin: OnceLock::new(),
            attempts: AtomicU64::new(0),
            metrics: Mutex::new(Metrics::new(ramp)),
        }
    }

    /// How the run stands.
    #[must_use]
    pub fn live(&self) -> Live {
        self.metrics()
            .live(self.now(), self.attempts.load(Ordering::Relaxed))
    }

    /// The table holds a row of this partition from before the run.
    pub fn found(&self, partition_key: &str) {
        self.metrics().found(partition_key);
    }

    /// Begins the run, unless it has.
    pub(super) fn begin(&self) -> Instant {
        *self.begin.get_or_init(Instant::now)
    }

    /// Time since the begin.
    pub(super) fn now(&self) -> Duration {
        self.begin.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    pub(super) fn began(&self, kind: Kind, partition_key: &str, entities: u64) {
        self.metrics()
            .began(self.now(), kind, partition_key, entities);
    }

    pub(super) fn ended(&self, ended: &OperationEnd<'_>) {
        self.metrics().ended(ended);
    }

    pub(super) fn stopped(&self, at: Duration) {
        self.metrics().stopped(at);
    }

    pub(super) fn end(&self, at: Duration, is_closed: bool) -> Measured {
        self.metrics()
            .end(at, self.attempts.load(Ordering::Relaxed), is_closed)
    }

    fn metrics(&self) -> MutexGuard<'_, Metrics> {
        // A panic under the lock ends the run anyway; figures are still figures.
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RetryObserver for Recorder {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        // Most attempts succeed at once, and need no lock.
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
