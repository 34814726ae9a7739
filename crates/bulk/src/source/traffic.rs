//! Counts the requests of a client, and their bytes.

use partita_client::{AttemptEvent, Decision, RetryObserver};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the requests and bytes of a client, as the client's [`RetryObserver`]. Counts never decrease.
#[derive(Debug, Default)]
pub struct Traffic {
    requests: AtomicU64,
    retries: AtomicU64,
    bytes: AtomicU64,
}

/// The counts so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficCounts {
    /// HTTP requests, including retries.
    pub requests: u64,
    /// HTTP requests that failed and were retried.
    pub retries: u64,
    /// Bytes of request and answer bodies.
    pub bytes: u64,
}

impl Traffic {
    /// Counts an answered request. `bytes` is the size of the request body and the answer body.
    pub fn count(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> TrafficCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        TrafficCounts {
            requests: read(&self.requests),
            retries: read(&self.retries),
            bytes: read(&self.bytes),
        }
    }
}

impl RetryObserver for Traffic {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        let (sent, received) = event.bytes;
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes
            .fetch_add((sent + received) as u64, Ordering::Relaxed);
        if matches!(event.decision, Decision::Retry { .. }) {
            self.retries.fetch_add(1, Ordering::Relaxed);
        }
    }
}
