//! Counters of requests that servers of a cluster forward to each other.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use super::counted::Counted;

/// What became of a request that was held or forwarded to another server of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardOutcome {
    /// Its owner has answered.
    Answered,
    /// It was held, and then executed by this server.
    Here,
    /// It was not executed: its range was not served in time.
    Refused,
    /// It may have been executed: the connection broke after it was sent.
    Unknown,
    /// The client has gone, or its time was over.
    Abandoned,
}

impl ForwardOutcome {
    /// The values of the label `outcome`, in the order of the variants.
    pub(crate) const WORDS: [&str; 5] = ["answered", "here", "refused", "unknown", "abandoned"];
}

/// The counters of forwarded requests. An embedded server has none to count.
#[derive(Debug, Default)]
pub(crate) struct ForwardCounts {
    outcomes: [AtomicU64; ForwardOutcome::WORDS.len()],
    held: AtomicUsize,
    for_peers: AtomicI64,
}

impl ForwardCounts {
    /// Counts a request that was held or forwarded.
    pub(crate) fn ended(&self, outcome: ForwardOutcome) {
        if let Some(count) = self.outcomes.get(outcome as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes how many requests are held.
    pub(crate) fn hold(&self, requests: usize) {
        self.held.store(requests, Ordering::Relaxed);
    }

    /// Counts a request of another server as under way until the guard is dropped.
    pub(crate) fn for_peer(&self) -> Counted<'_> {
        Counted::new(&self.for_peers)
    }

    pub(super) fn read(&self) -> ForwardReading {
        ForwardReading {
            outcomes: self
                .outcomes
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed)),
            held: self.held.load(Ordering::Relaxed),
            for_peers: self.for_peers.load(Ordering::Relaxed),
        }
    }
}

/// The values of the counters.
#[derive(Debug)]
pub(crate) struct ForwardReading {
    /// In the order of [`ForwardOutcome::WORDS`].
    pub(crate) outcomes: [u64; ForwardOutcome::WORDS.len()],
    pub(crate) held: usize,
    pub(crate) for_peers: i64,
}
